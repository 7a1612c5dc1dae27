package transport

import "github.com/coterie-go/coterie/ddata/transport/receipt"

// outstanding is the frames that a link of the Data lane has taken from its queue, until their
// receipt comes. The lock of the queue guards it.
type outstanding struct {
	receipt.Keeper     // what has a number, from the beginning of its write on
	inHand         int // frames that were taken to be written, and have no number yet
}

// take takes note that frames were taken to be written.
func (o *outstanding) take(frames int) { o.inHand = frames }

// number numbers these frames, and returns the last number.
func (o *outstanding) number(frames int) uint64 {
	o.inHand = 0
	return o.Number(frames)
}

// taken is the number of frames that were taken from the queue; what went out again counts once.
func (o *outstanding) taken() uint64 { return o.Written() + uint64(o.inHand) }
