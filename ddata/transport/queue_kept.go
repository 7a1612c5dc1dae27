package transport

// What a queue of the Data lane keeps, until the receipt comes.

// stance is what a hello says of the frames of a link: how many were written on earlier connections,
// and of how many of these it is known what became of them.
func (q *queue) stance() (written, acked uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.Written(), q.kept.Acked()
}

// number numbers the frames of a batch that is about to be written, and returns the last number.
func (q *queue) number(frames int) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inHand = 0
	return q.kept.Number(frames)
}

// keepLarge keeps a batch in its own buffer. False: it has to be copied.
func (q *queue) keepLarge(batch []byte, last uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.KeepLarge(batch, last)
}

// keepSome copies what fits into one chunk, and returns the rest of the batch.
func (q *queue) keepSome(batch []byte, last uint64, begun bool) (rest []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.KeepSome(batch, last, begun)
}

// receipt lets go of what has arrived. False: no correct receiver says so.
func (q *queue) receipt(received uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.kept.Release(received) {
		return false
	}
	q.progress.Made()
	signal(q.receipts)
	return true
}

// keptAbove reports whether more than so many bytes are kept.
func (q *queue) keptAbove(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.Bytes() > most
}

// resume puts back, before all others, what the other side of a new connection has not received, and
// returns the number of these frames. What may have arrived or not is lost.
func (q *queue) resume(received uint64, fresh bool) (again int, lost []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, again, lost := q.kept.Resume(received, fresh)
	if again > 0 {
		q.waiting.putFirst(batch, again)
	}
	q.progress.Made()
	return again, lost
}
