// Package drill pauses and kills nodes under the handlers of package seats, on real nodes in one process: the
// simulator (seats.TestShows) plays thousands of such moments, and a drill one that matters, step by step.
package drill
