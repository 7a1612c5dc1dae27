// Package recent keeps the metrics of the last minute for those that look at a running node, such as
// package console, and hands them on to another Meter.
//
// # Nouns
//
//   - A [Meter] goes into ddata.Config.Meter. It costs one binary search and one atomic addition for each
//     observation, beside what the Meter behind it costs.
//   - A [Distribution] is what was observed of one series lately: how often, and its quantiles.
//   - A [Value] is a gauge or a counter at this moment.
//
// # Guarantees
//
// Looks turn the time over: a [Meter.Recent] reaches back over half a minute at least, if the Meter
// is that old, and over a minute and twice the time between looks at most.
//
// # Not guaranteed
//
// Quantiles are estimated within the buckets of the metric, as if observations were spread evenly in each. What is
// observed during a look counts in this one or in the next.
package recent
