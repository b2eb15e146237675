#!/usr/bin/env bash
# When jobs with a time zone run in the night in which clocks change. In spring, an hourly job of the packages cron and cronosjs, at 30
# minutes past each hour, runs once more, at 03:00. In autumn, that of cronosjs does not run for two hours. A daily job at 02:30, a time
# that does not exist in spring, runs at 03:00 or at 03:30, depending on the package.
#
# How to read the table: the local times of the runs from 01:00 until 04:59 on 28 March 2027 (spring: 02:00 is followed by 03:00) and on 25
# October 2026 (autumn: 03:00 is followed by 02:00), in Berlin.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#| 30 2 * * *, spring
#|   cron 4.4.0          03:00
#|   cronosjs 1.7.1      03:00
#|   croner 11.0.1       03:00
#|   cron-parser 5.10.6  03:30
#| 30 2 * * *, autumn
#|   cron 4.4.0          02:30
#|   cronosjs 1.7.1      02:30
#|   croner 11.0.1       02:30
#|   cron-parser 5.10.6  02:30
#| 30 * * * *, spring
#|   cron 4.4.0          01:30 03:00 03:30 04:30
#|   cronosjs 1.7.1      01:30 03:00 03:30 04:30
#|   croner 11.0.1       01:30 03:30 04:30
#|   cron-parser 5.10.6  01:30 03:30 04:30
#| 30 * * * *, autumn
#|   cron 4.4.0          01:30 02:30 02:30 03:30 04:30
#|   cronosjs 1.7.1      01:30 02:30 03:30 04:30
#|   croner 11.0.1       01:30 02:30 02:30 03:30 04:30
#|   cron-parser 5.10.6  01:30 02:30 02:30 03:30 04:30
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm cron@4.4.0 cronosjs@1.7.1 croner@11.0.1 cron-parser@5.10.6

cat > "$folder/times.js" <<'END'
import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
import { CronosExpression } from 'cronosjs';

const timezone = 'Europe/Berlin';
const runs = 24;
const libraries = {
  'cron 4.4.0': (expression, from) => {
    const time = new CronTime(expression, timezone);
    const dates = [from];
    while (dates.length <= runs) dates.push(time.getNextDateFrom(dates.at(-1), timezone).toJSDate());
    return dates.slice(1);
  },
  'cronosjs 1.7.1': (expression, from) => CronosExpression.parse(expression, { timezone }).nextNDates(from, runs),
  'croner 11.0.1': (expression, from) => new Cron(expression, { timezone, paused: true }).nextRuns(runs, from),
  'cron-parser 5.10.6': (expression, currentDate) => {
    const parsed = CronExpressionParser.parse(expression, { tz: timezone, currentDate });
    return Array.from({ length: runs }, () => parsed.next().toDate());
  },
};
// The hours from 01:00 until 04:59 of local time.
const nights = { spring: ['2027-03-28T00:00Z', '2027-03-28T03:00Z'], autumn: ['2026-10-24T23:00Z', '2026-10-25T04:00Z'] };
const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });

for (const expression of ['30 2 * * *', '30 * * * *']) {
  for (const [night, [start, end]] of Object.entries(nights)) {
    console.log(`${expression}, ${night}`);
    for (const [name, list] of Object.entries(libraries)) {
      const dates = list(expression, new Date(Date.parse(start) - 1)).filter((date) => date < new Date(end));
      console.log(`  ${name.padEnd(20)}${dates.map((date) => format.format(date)).join(' ')}`);
    }
  }
}
END

measure() { "$node" "$folder/times.js"; }
check
