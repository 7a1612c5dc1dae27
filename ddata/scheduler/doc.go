// Package scheduler is what a component needs of the process around it: time, functions that run
// beside their caller, waiting, and random numbers.
//
// A component that starts goroutines and reads the clock by itself cannot be run in virtual time.
// One that does so by a Scheduler runs the same code on goroutines in production, and on one flow
// of control in a simulation.
//
// # Nouns
//
//   - A Clock is the time, timers and contexts that end by time.
//   - A Scheduler is a Clock that runs functions beside their caller and lets them wait.
//   - Goroutines is the Scheduler of production.
//   - An Alarm calls a function some time after it was armed.
//   - A Group are functions that run beside their caller, and can be waited for together.
//
// # Rules for components
//
//   - Start what runs beside the caller by Go, never by a go statement.
//   - Wait by Await, never by a receive that blocks, and hold no lock meanwhile: the function that
//     would give it up may be unable to run.
//   - A receive or a send that cannot block needs no Scheduler.
//   - A lock that is held for a moment needs no Scheduler either.
package scheduler
