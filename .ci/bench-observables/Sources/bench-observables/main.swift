// Measures what notifications cost, as ratios to the baselines of the same run, and says whether each is
// within its budget. It ends with status 1 if one isn't.

import Observables

var report = Report()
for count in [1, 10, 1000] { notifications(count, &report) }
changesInPlace(&report)
threadEnds(&report)
report.end()
