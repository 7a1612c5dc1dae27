// Package ports finds TCP ports of this machine for the nodes of a test. A test that starts several
// nodes has to know all their addresses before the first of them listens.
//
// The ports are below 32,768, where Linux begins to take those of outgoing connections and of
// listeners without a choice: one of these could be taken again before its node listens. Two
// processes that choose at the same time hardly ever choose the same port; it is possible.
package ports
