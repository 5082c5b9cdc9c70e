/** When invoices move to the archive: NCRONTAB with seconds. Each run takes what the last one had no time for. */
export const archiveSchedule = '0 20 * * * *';
