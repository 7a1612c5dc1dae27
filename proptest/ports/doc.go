// Package ports finds TCP ports of this machine for the nodes of a test. A test that starts several
// nodes has to know all their addresses before the first of them listens.
//
// The ports are below 32,768, where Linux begins to take those of outgoing connections and of
// listeners without a choice: one of these could be taken again before its node listens. They are
// divided into blocks. A process takes a block by listening on its first port until it ends, so two
// processes never choose the same port, and goes through its blocks in order, so that two clusters
// that start side by side in one process do not either.
package ports
