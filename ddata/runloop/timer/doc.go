// Package timer is the arithmetic of waiting that machines share. A machine owns no timer: it says
// when it has to be stepped next.
//
//   - Earliest, Latest and Due compare times, of which the zero one means never.
//   - Next collects the times at which something is due, and keeps the earliest.
//   - A Queue has the times of many things, and finds the earliest.
//   - Backoff is how long to pause before something is tried again, and Jitter draws a pause near it.
package timer
