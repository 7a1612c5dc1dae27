// Package doc holds the guides of replicated data and of running a cluster. Its tests are the code that
// the guides show, and the drills that they describe.
package doc
