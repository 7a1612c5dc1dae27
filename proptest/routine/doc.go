// Package routine runs the functions of a simulated process on one flow of control: it is the
// scheduler.Scheduler of virtual time.
//
// # Nouns
//
//   - A Process is one simulated process. Each function that its components start is a routine: a
//     coroutine, which runs until it waits or returns.
//   - A Timeline is where a Process has its events: the one queue of a simulated world, as one of
//     its processes sees it. The simulator brings its own; a World of this package serves tests.
//
// # How it runs
//
// Nothing runs by itself. The world takes one event after another from its queue. An event of a
// process enters it by Process.Enter, and runs until each of its routines waits. A routine that
// waits in Await is looked at after each event of its process. When one of its channels has
// something, the Timeline schedules its return, as a real scheduler does a moment later.
//
// # Guarantees
//
//   - The same Timeline gives the same run: no real goroutine, clock or random number takes part.
//   - A Process whose Timeline keeps its events back is frozen: nothing of it runs.
//   - A Process that was killed runs nothing ever again, except the deferred calls of its routines.
//     The ports of a killed process must do nothing.
//
// # Not guaranteed
//
//   - A routine that holds a lock while it waits stops the whole world.
//   - A process that is not killed keeps the goroutines of its routines: kill all at the end of a run.
//   - A routine must not end itself by runtime.Goexit: that ends the goroutine of the world too.
//   - A context that is derived by package context from one of Process.WithTimeout, and ends
//     because of the time, has the error context.Canceled; its cause is DeadlineExceeded.
package routine
