//go:build race

package bubble

// raceDetector is whether the test was built with the race detector.
const raceDetector = true
