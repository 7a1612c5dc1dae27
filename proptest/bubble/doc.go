// Package bubble runs tests in the bubbles of testing/synctest, where time is synthetic.
//
// It exists because of a defect of Go (golang/go#78156, in 1.26.8 too). The timers of a bubble
// share one context of the race detector, and two of them that fire on two processors at once
// damage it. The test process then dies in the detector, at a place that has nothing to do with the
// cause.
package bubble
