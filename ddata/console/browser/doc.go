// Package browser drives pages in a headless Chromium: that of a console, through a kill and a rebalance of
// a real cluster, and those of ddata/tracing/viewer, with stories of the simulator and of a real cluster. It is a
// module of its own, so that no user of the library gets the driver of a browser.
//
//	go test -screenshots ./...
//
// also writes the pictures that the comment of package console names. Without Chromium the test says
// that it was not tried.
package browser
