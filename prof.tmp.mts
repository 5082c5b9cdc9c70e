import { createLocks } from './packages/leases/src/index.ts';
import { redisLockStore } from './packages/lock-stores/src/redis/redisLockStore.ts';
import { redisScripts as sc } from './packages/lock-stores/src/redis/redisScripts.ts';
import { createClient } from '@redis/client';
import { Redis } from 'ioredis';
const url='redis://127.0.0.1:7902';
const locks = createLocks(redisLockStore(url)); const owner={instance:'a',job:'b'};
const bare = await createClient({url, commandOptions:{timeout:0}}).connect(); for (const s of Object.values(sc)) await bare.scriptLoad(s.lua);
const io = new Redis(url);
const viaIo = createLocks(redisLockStore(io));
const N=2000;
const time = async (name: string, f: ()=>Promise<unknown>) => { for(let i=0;i<500;i++) await f(); const r=[]; for (let k=0;k<5;k++){const t=performance.now(); for (let i=0;i<N/5;i++) await f(); r.push((performance.now()-t)/(N/5));} console.log(name, r.map(x=>x.toFixed(4)).join(' ')); };
const cpu = async (name: string, f: ()=>Promise<unknown>) => { const c=process.cpuUsage(); await time(name,f); const d=process.cpuUsage(c); console.log('  cpu ms/cycle', ((d.user+d.system)/1000/(N+500)).toFixed(4)); };
const only = process.argv[2];
if (only!=='ours') {
await cpu('node-redis PING x2', async()=>{await bare.sendCommand(['PING']);await bare.sendCommand(['PING']);});
await cpu('ioredis PING x2', async()=>{await io.ping();await io.ping();});
await cpu('node-redis scripts', async()=>{ await bare.sendCommand(['EVALSHA',sc.take.sha,'2','p:{k}','p:{k}:lease','id1','30000','','0','0',',"owner":{"instance":"a","job":"b"},"since":1,"leaseMs":30000}']);await bare.sendCommand(['EVALSHA',sc.release.sha,'2','p:{k}','p:{k}:lease','id1','w:']);});
await cpu('node-redis SET NX + GET', async()=>{ await bare.sendCommand(['SET','x','1','NX','PX','30000']);await bare.sendCommand(['DEL','x']);});
}
await cpu('ours', async()=>{ const l=await locks.tryAcquire('k',owner); await l!.release();});
await cpu('ours unfenced', async()=>{ const l=await locks.tryAcquire('ku',owner,{fenced:false}); await l!.release();});
await cpu('ours ioredis', async()=>{ const l=await viaIo.tryAcquire('k2',owner); await l!.release();});
process.exit();
