// Package commits measures event-sourced entities on a store, beside the same store without them.
//
// A writer of the entities asks one entity to store one event, and waits for the reply, which comes
// after the commit. The store without entities takes events of the same length, with the rows that any
// store of histories needs, and checks nothing. It gets them in the batches that serve it best: an
// event of each writer, up to 256, in each call, and several calls at one time if there are more
// writers. Both take turns in one run, so that they share whatever else the machine does.
package commits
