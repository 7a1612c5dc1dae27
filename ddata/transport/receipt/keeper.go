package receipt

import "github.com/coterie-go/coterie/ddata/transport/frame"

// Keeper holds what a link has written and has no receipt for. The lock of its owner guards it.
//
// A large batch is kept in the buffer in which it was written, the writer's again after the receipt.
// Small ones are copied into chunks: their buffers would be many, and mostly empty.
//
// Invariants: acked ≤ written; chunks hold the frames from acked, or a little below it, to written,
// except those of a write that is under way. bytes is what they hold, lent the size of the buffers
// among them.
type Keeper struct {
	lentMax int
	spares  *frame.Spares // of the writer

	written uint64 // frames handed to connections; what went out again counts once
	acked   uint64 // the last receipt
	chunks  []chunk
	bytes   int
	lent    int
	lost    int      // how often something that was kept was given up
	free    [][]byte // of chunks that are not in use
}

// chunk holds batches, and the rest of one that began in the chunk before; or one large batch.
type chunk struct {
	data  []byte // in chunkSize bytes, or the buffer of the batch
	large bool
	rest  int    // of data, that belong to a batch of the chunk before
	last  uint64 // the number, from 1, of the last frame of the last batch that has bytes here
}

// NewKeeper returns the keeper of a writer whose spares are given. Buffers with up to twice max bytes
// may be kept as they are.
func NewKeeper(max int, spares *frame.Spares) Keeper { return Keeper{lentMax: 2 * max, spares: spares} }

// Written is the number of frames that were handed to connections.
func (k *Keeper) Written() uint64 { return k.written }

// Acked is the last receipt.
func (k *Keeper) Acked() uint64 { return k.acked }

// Lost is how often something that was kept was given up.
func (k *Keeper) Lost() int { return k.lost }

// Bytes is how many bytes are kept.
func (k *Keeper) Bytes() int { return k.bytes }

// Number numbers the frames of a batch that is about to be written, and returns the last number.
func (k *Keeper) Number(frames int) (last uint64) {
	k.written += uint64(frames)
	return k.written
}

// KeepLarge keeps a batch in its own buffer, after its write has ended, well or not. It returns false,
// and keeps nothing, when the receipt has come already, or too much memory is lent in that way.
func (k *Keeper) KeepLarge(batch []byte, last uint64) bool {
	if last <= k.acked || k.lent+cap(batch) > k.lentMax {
		return false
	}
	k.chunks = append(k.chunks, chunk{data: batch, large: true, last: last})
	k.bytes += len(batch)
	k.lent += cap(batch)
	return true
}

// KeepSome copies what fits into one chunk, and returns the rest of the batch. begun: a part of the
// batch was kept before. Receipts may come between two calls.
func (k *Keeper) KeepSome(batch []byte, last uint64, begun bool) (rest []byte) {
	if last <= k.acked {
		return nil
	}
	n := len(k.chunks)
	fresh := n == 0 || k.chunks[n-1].large || len(k.chunks[n-1].data) == cap(k.chunks[n-1].data)
	if fresh {
		k.chunks = append(k.chunks, chunk{data: k.freeChunk()})
	}
	c := &k.chunks[len(k.chunks)-1]
	n = min(len(batch), cap(c.data)-len(c.data))
	if begun && fresh { // else a receipt in between has made room in the chunk with the rest of the batch
		c.rest = n
	}
	c.data = append(c.data, batch[:n]...)
	c.last = last
	k.bytes += n
	return batch[n:]
}

// freeChunk returns an empty chunk.
func (k *Keeper) freeChunk() []byte {
	n := len(k.free)
	if n == 0 {
		return make([]byte, 0, chunkSize)
	}
	c := k.free[n-1]
	k.free = k.free[:n-1]
	return c
}

// Release lets go of what has arrived. It returns false for a receipt that no correct receiver sends.
func (k *Keeper) Release(received uint64) bool {
	if received < k.acked || received > k.written {
		return false
	}
	k.acked = received
	n := 0
	for ; n < len(k.chunks) && k.chunks[n].last <= received; n++ {
		k.put(&k.chunks[n])
	}
	left := copy(k.chunks, k.chunks[n:])
	clear(k.chunks[left:])
	if k.chunks = k.chunks[:left]; n > 0 && left > 0 {
		k.bytes -= k.chunks[0].cutRest()
	}
	return true
}

// put gives the memory of a chunk back.
func (k *Keeper) put(c *chunk) {
	k.bytes -= len(c.data)
	if c.large {
		k.lent -= cap(c.data)
		k.spares.Put(c.data)
	} else if len(k.free) < freeMax {
		k.free = append(k.free, c.data[:0])
	}
}

// cutRest drops the rest of a batch that began in a chunk that is gone, so that this one begins with
// a whole frame again. It returns the number of bytes.
func (c *chunk) cutRest() int {
	n := c.rest
	if n > 0 {
		c.data = append(c.data[:0], c.data[n:]...)
		c.rest = 0
	}
	return n
}

// Resume begins a new connection, whose receiver has got so many frames. again is the batch that has
// to be written first of all, with its number of frames.
//
// When the receiver knows nothing of earlier connections (fresh), what is kept may have arrived or
// not: it is given up, and returned as lost. The next hello says so by its Acked; until then the
// other side repeats that it knows nothing.
func (k *Keeper) Resume(received uint64, fresh bool) (again []byte, frames int, lost []byte) {
	if fresh || !k.Release(received) {
		return nil, 0, k.GiveUp()
	}
	if k.written == received {
		return nil, 0, nil
	}
	frames = int(k.written - received)
	again = k.take()
	k.written, k.acked = received, received
	return again, frames, nil
}

// GiveUp returns the frames that are kept and above the last receipt. They may have arrived or not,
// and are kept no longer.
func (k *Keeper) GiveUp() []byte {
	if k.acked < k.written {
		k.lost++
	}
	return k.take()
}

// take returns the frames that are kept and above the last receipt, and keeps them no longer.
func (k *Keeper) take() []byte {
	var all []byte
	for _, c := range k.chunks {
		all = append(all, c.data...)
	}
	all = all[frame.Skip(all, frame.Count(all)-int(k.written-k.acked)):]
	k.chunks, k.free, k.bytes, k.lent, k.acked = nil, nil, 0, 0, k.written
	return all
}

// Idle reports whether the keeper holds no memory that an idle link should let go of.
func (k *Keeper) Idle() bool { return len(k.free)+len(k.chunks) == 0 }

// Shrink lets go of the chunks that are not in use.
func (k *Keeper) Shrink() { k.free = nil }
