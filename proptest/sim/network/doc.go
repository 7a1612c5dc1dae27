// Package network carries packets between simulated processes.
//
// A [Network] joins slots, on each of which at most one process listens. A process is an [Endpoint];
// where it lives, and what time it is there, says a [World].
//
// A process is told how its attempts to connect to its peers end, and so of the signs that the end of a
// process leaves: its machine refuses connections. Some cuts refuse connections too, and some resets are
// followed by refusals, although the processes run on.
//
// The lanes are those of package transport. The control lane loses, repeats, reorders and delays. The
// data and bulk lanes are FIFO between two incarnations until their connection breaks. A [Stripe] is
// one connection of the Data lane of extensions: it keeps what package transport promises, order and
// no loss across connections while both ends live, and gives back what a removed peer may not have
// got.
//
// Faults are cuts, total, partial or one-way; links that flap beside what is cut; broken connections;
// a [SlowLink]; and what a script says: packets that get lost by what they are, and lanes that are
// held up. [Network.Heal] ends all of them. Bytes that a machine is lent are overwritten after the
// call, so that a machine that keeps them is found out.
package network
