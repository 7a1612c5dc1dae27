package lmdb

import (
	"math/bits"

	"github.com/coterie-go/coterie/ddata/config"
)

// Options tune a store. The zero value is right for nearly every service.
type Options struct {
	// MapSize is how many bytes of address space the store maps at first; it doubles by itself when
	// the rows need more. Address space is not memory: a large map costs nothing, and a small one a
	// pause of all loads at each doubling. When the system refuses (ulimit -v) the half is tried,
	// and so on. Default: 1 TiB on 64-bit machines, 512 MiB on others. A larger file counts in any
	// case.
	MapSize int64
	// MaxTables bounds how many tables can be open. Default: 128.
	MaxTables int
	// QueueMax bounds the bytes of the batches that wait for the disk, as durable.Size counts them;
	// past it a batch is refused with durable.ErrOverloaded. A batch that finds nothing waiting is
	// always taken. More rides out longer pauses of the disk and holds more memory meanwhile.
	// Default: 64 MiB.
	QueueMax int
	// CompactFree is how much of the file may be free, from 0 to 1, before Open writes the file
	// anew: files never shrink otherwise. Less gives room back sooner, more makes fewer starts wait
	// for it; it takes about as long as copying the rows, and room for them beside the old file.
	// Negative: never. Default: 0.5.
	CompactFree float64
	// CompactMin is the size in bytes below which a file is not worth it. Default: 64 MiB.
	CompactMin int64
	// OnEvent hears of what happens inside. It runs on the goroutine on which the thing happens, the
	// writer's most of the time, and must be quick. Default: none.
	OnEvent func(Event)

	always bool // compact, whatever is free
	test   testKnobs
}

// testKnobs are for the tests of this package.
type testKnobs struct {
	compacting func(step string) error // called in front of each step of a compaction, which fails with its error
	pagesMax   int                     // pages that one batch may change; 0 = pagesMax
}

const (
	defaultMaxTables   = 128
	defaultQueueMax    = 64 << 20
	defaultCompactFree = 0.5
	defaultCompactMin  = 64 << 20
	mapSizeMin         = 1 << 20 // below it halving gives up
	mapSizeMax         = 1 << 46 // above it doubling gives up
)

func defaultMapSize() int64 {
	if bits.UintSize < 64 {
		return 512 << 20
	}
	return 1 << 40
}

// Validate reports all faults together.
func (o Options) Validate() error {
	var f config.Faults
	f.Add(o.MapSize < 0, "MapSize", "is %d; it must not be negative", o.MapSize)
	f.Add(o.MaxTables < 0, "MaxTables", "is %d; it must not be negative", o.MaxTables)
	f.Add(o.QueueMax < 0, "QueueMax", "is %d; it must not be negative", o.QueueMax)
	f.Add(o.CompactMin < 0, "CompactMin", "is %d; it must not be negative", o.CompactMin)
	f.Add(!(o.CompactFree <= 1), // nor is it no number
		"CompactFree", "is %v; it is a part of the file, at most 1", o.CompactFree)
	f.Add(o.MapSize > mapSizeMax, "MapSize", "is %d; at most %d can be mapped", o.MapSize, int64(mapSizeMax))
	return f.Err("lmdb: Options")
}

// WithDefaults returns the options with the default in place of each zero field that has one, and what
// Validate says of them.
func (o Options) WithDefaults() (Options, error) {
	if o.MapSize == 0 {
		o.MapSize = defaultMapSize()
	}
	if o.MaxTables == 0 {
		o.MaxTables = defaultMaxTables
	}
	if o.QueueMax == 0 {
		o.QueueMax = defaultQueueMax
	}
	if o.CompactFree == 0 {
		o.CompactFree = defaultCompactFree
	}
	if o.CompactMin == 0 {
		o.CompactMin = defaultCompactMin
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	if o.test.pagesMax == 0 {
		o.test.pagesMax = pagesMax
	}
	return o, o.Validate()
}
