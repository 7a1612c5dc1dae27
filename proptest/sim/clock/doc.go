// Package clock is the clock of a simulated machine.
//
// True time is virtual: nanoseconds since the start of the run, an int64, which only the loop of the
// world moves. A [Clock] shows it with an error: its rate is a little off, its wall time is skewed
// and may jump, and its monotonic reading stands still while the machine is suspended. What it shows
// is a time.Time with both readings, as time.Now returns it. A [Timer] fires at a time that it shows.
package clock
