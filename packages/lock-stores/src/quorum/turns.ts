/**
 * Lets the requests of one lease reach one store in the order in which they were made. The quorum goes on before its slowest
 * member has answered: without this, a late renewal could land after the release.
 */
export function turns(): (line: string, task: () => Promise<void>) => void {
  const lines = new Map<string, Promise<void>>();
  return (line, task) => {
    const before = lines.get(line);
    const turn = before === undefined ? task() : before.then(task);
    lines.set(line, turn);
    const over = () => {
      if (lines.get(line) === turn) lines.delete(line);
    };
    turn.then(over, over);
  };
}
