// Package receipt sees to it that frames survive the end of a connection: the sender keeps what it
// has written until a receipt comes, and the receiver counts what it has taken. It knows no node and
// no lane.
//
//	Keeper, of the link                               Counter, of a connection at the gate
//	written: frames handed to connections             received: frames handed to handlers
//	   │ hello, written, acked ───────────────────────► │
//	   │ ◄────────────────────────── welcome, received  │   what is above goes out again, first of all
//	   │ frame frame frame … ─────────────────────────► │
//	   │ ◄───────────────────────── receipt: received   │   eight bytes, little endian
//
// # Nouns
//
// A receipt is a number: so many frames of the link have been received, on all connections together.
//
// A Keeper holds what one link has written and has no receipt for. It outlives connections. A
// Counter counts what comes on one connection, going on from the number of its predecessor, and
// sends the receipts.
//
// An Ending is what a link hears of the end of one connection. A connection ends in order where it
// can: then its link knows which frames were received, and that no other was.
//
//	link                                      receiver
//	   │ frame frame frame … ─────────────────► │
//	   │ ◄─────────────────────────── EndAsked  │   the receiver departs, and takes nothing that is not written yet
//	   │ … frame, end of writing ─────────────► │   the link ends what it has begun to write
//	   │ ◄─────────────── receipt, AllReceived  │   it says how many frames came; the connection ends
//
// The link may begin as well, because its peer was removed or its transport closes. Then there is
// no EndAsked. Both words stand in place of a receipt.
//
// # Guarantees
//
// A Keeper lets go of a frame only with its receipt. Whatever a receiver says, a Keeper takes back no
// receipt and sends nothing that was not written. Parts of messages are frames to it.
//
// # What it does not do
//
// It opens no connection and dials none. A Keeper has no lock: its owner has one.
//
// The package carries no promise of compatibility: transport builds on it.
package receipt
