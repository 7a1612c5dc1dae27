package large

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/bench/measure"
)

// Load measures the start of a node whose directory holds so many rows, beside a bare pass over the same rows.
func Load(ctx context.Context, size int) error {
	dir, err := os.MkdirTemp("", "bench-load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	if err := fillElsewhere(ctx, store, size); err != nil {
		return err
	}
	k, err := startKeeper(ctx, store, 0)
	if err != nil {
		return err
	}
	defer k.end()
	s, err := k.start(size)
	if err != nil {
		return err
	}
	k.end()
	limit, file, err := scanStore(store)
	if err != nil {
		return err
	}
	measure.Report("load", "start", s.figures(limit, file))
	return nil
}

// started is what the start of a node has cost.
type started struct {
	rows         int
	seconds, cpu float64 // cpu is processor time of all threads
	peak, heap   int64   // bytes: of the process at its highest, of live data afterwards
	repairs      int     // that were begun
}

// start starts the keeper's node, which must hold so many rows then.
func (k *keeper) start(size int) (s started, err error) {
	said, err := k.ask("start", 5)
	if err != nil {
		return s, err
	}
	s = started{seconds: said[0], cpu: said[1], peak: int64(said[2]), heap: int64(said[3]), repairs: int(said[4])}
	rows, err := k.ask("count", 1)
	if err != nil {
		return s, err
	}
	if s.rows = int(rows[0]); s.rows != size {
		return s, fmt.Errorf("the node holds %d rows of %d", s.rows, size)
	}
	return s, nil
}

// figures are those of a start, beside a pass over limit rows in a second, of a file of so many bytes.
func (s started) figures(limit float64, file int64) (f measure.Figures) {
	f.Add("rows", s.rows)
	f.Add("seconds", s.seconds)
	f.Add("cpu_seconds", s.cpu)
	f.Add("rows_per_s", int(float64(s.rows)/s.seconds))
	f.Add("peak_bytes", s.peak)
	f.Add("heap_bytes", s.heap)
	f.Add("heap_bytes_per_row", float64(s.heap)/float64(s.rows))
	f.Add("file_bytes", file)
	f.Add("limit_rows_per_s", int(limit))
	f.Add("ratio", float64(s.rows)/s.seconds/limit)
	return f
}
