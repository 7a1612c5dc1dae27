package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// bars show a person how far long work is. Nothing is shown where no terminal is.
type bars struct {
	out io.Writer
	on  bool
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond // between two pictures of a bar
	barAfter = 500 * time.Millisecond // what is done before shows none
)

// bar is the picture of one work.
type bar struct {
	out   io.Writer
	what  string
	total int64  // bytes; how many there will be is a guess
	unit  string // what is counted; empty: bytes
	clock func() time.Time

	began, drawn time.Time
	done         int64
}

// add notes that so much more was done.
func (b *bar) add(n int64) {
	b.done += n
	now := b.clock()
	if now.Sub(b.began) >= barAfter && now.Sub(b.drawn) >= barEvery {
		b.drawn = now
		fmt.Fprintf(b.out, "\r%s", b)
	}
}

// String draws the bar.
func (b *bar) String() string {
	part := 1.0
	if b.total > 0 {
		part = min(1, float64(b.done)/float64(b.total))
	}
	full, amount := int(part*barWidth), fmt.Sprintf("%d MiB", b.done>>20)
	if b.unit != "" {
		amount = fmt.Sprintf("%d of %d %s", b.done, b.total, b.unit)
	}
	return fmt.Sprintf("%-24s [%s%s] %3.0f %% %s", plain(b.what), strings.Repeat("#", full),
		strings.Repeat(" ", barWidth-full), part*100, amount)
}

// end wipes the bar out.
func (b *bar) end() {
	if !b.drawn.IsZero() {
		fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", len(b.String())))
	}
}

// reading is a table whose loads are shown.
func (bs bars) reading(what string, total int64, t durable.Table) durable.Table {
	if !bs.on {
		return t
	}
	return shown{t, func() *bar { return bs.bar("reading "+what, total) }}
}

func (bs bars) bar(what string, total int64) *bar {
	return &bar{out: bs.out, what: what, total: total, clock: time.Now, began: time.Now()}
}

// shown is a table whose loads are shown.
type shown struct {
	durable.Table
	newBar func() *bar
}

// Load implements durable.Table.
func (s shown) Load(fn func(durable.Row) error) error {
	b := s.newBar()
	defer b.end()
	return s.Table.Load(func(r durable.Row) error {
		b.add(int64(len(r.Key) + len(r.Value)))
		return fn(r)
	})
}

// compacting shows how far a compaction of a directory is, until stop.
func (bs bars) compacting(dir string) (stop func()) {
	if !bs.on {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		b, tick := bs.bar("compacting", 0), time.NewTicker(barEvery)
		defer tick.Stop()
		defer b.end()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				written, of := lmdb.Compacting(dir)
				b.total = of
				b.add(written - b.done)
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
