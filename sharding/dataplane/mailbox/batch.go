package mailbox

// Batch is messages that came together, no more than fit into a frame number of 15 bits. Those for one mailbox
// are a Chain, which keeps their order. It is not safe for concurrent use, and is used again when it was emptied.
type Batch struct{ parcels []parcel }

// parcel is one message of a batch.
type parcel struct {
	Envelope
	size  uint32 // what it counts of the bounds in bytes
	next  int16  // the next parcel of its chain; of the last one it means nothing
	frame int16  // the number of the frame in which it came
}

// Chain is the messages of a batch for one mailbox, in order. The zero value is empty.
type Chain struct {
	n, first, last int16
	bytes          uint32 // the sum of their sizes
}

// IsEmpty reports whether no message is left.
func (c *Chain) IsEmpty() bool { return c.n == 0 }

// Bytes is what its messages count of the bounds in bytes.
func (c *Chain) Bytes() uint32 { return c.bytes }

// Add puts a message at the end of a chain. frame is the number of the frame in which it came, which First
// returns.
func (b *Batch) Add(c *Chain, env Envelope, size uint32, frame int) {
	at := int16(len(b.parcels))
	b.parcels = append(b.parcels, parcel{env, size, 0, int16(frame)})
	if c.n == 0 {
		c.first = at
	} else {
		b.parcels[c.last].next = at
	}
	c.last = at
	c.n++
	c.bytes += size
}

// First is the first message of a chain that has one.
func (b *Batch) First(c *Chain) (env Envelope, size uint32, frame int) {
	p := &b.parcels[c.first]
	return p.Envelope, p.size, int(p.frame)
}

// Drop takes the first message out of a chain that has one.
func (b *Batch) Drop(c *Chain) {
	p := &b.parcels[c.first]
	c.n--
	c.bytes -= p.size
	c.first = p.next
}

// Empty takes all messages out. It is called when no chain is used any more.
func (b *Batch) Empty() {
	clear(b.parcels)
	b.parcels = b.parcels[:0]
}
