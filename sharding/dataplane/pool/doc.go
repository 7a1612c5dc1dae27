// Package pool runs tasks on few goroutines, and finds those that do not come to an end.
//
// # Nouns
//
//   - A Task is what runs: an entity with its mailbox, to the data plane. The run queue allocates
//     only while it grows, and takes no room in the task.
//   - A Pool has the run queue and the workers. It starts more workers when handlers block.
//   - A Slice is what a task sees of its worker. The task yields to others when it has run for long. It says
//     when it was sparse: then the worker lets other goroutines run before the next one, unless they have kept
//     it waiting lately.
//   - A Watch looks at the workers now and then. It tells of a handler that does not return, with
//     its age and its stack.
//
// # Guarantees
//
//   - A task that was submitted runs, on one worker at a time, as long as the caller submits it
//     once for each of its slices.
//   - Handlers that block do not keep the others waiting for longer than a few milliseconds, up to
//     the highest number of workers.
//   - A handler may end its goroutine: the pool goes on with another worker.
//   - A message costs the watch two atomic reads.
//
// # Not guaranteed
//
//   - Nothing is fair beyond the order of the queue: how long a slice lasts is for the task to say.
//   - A handler that does not return cannot be ended. Drain says so, and leaves its goroutine.
//
// The package carries no promise of compatibility: users see it through package sharding.
package pool
