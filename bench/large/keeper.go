package large

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/replicator/settings"
)

// keeper is a process with a node that does what it is told.
type keeper struct{ *child.Process }

// startKeeper starts a process whose node, the self-th of a cluster, will have its data in a directory. The first
// of a cluster founds it, at an address of its own; the others join it.
func startKeeper(ctx context.Context, dir string, self int, addrs ...string) (*keeper, error) {
	if self == len(addrs) {
		own, err := ports.Free(1)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, own...)
	}
	p, err := child.Start(ctx, "keeper", dir, self, strings.Join(addrs, " "))
	return &keeper{p}, err
}

// ask tells the process a word, and returns the numbers with which it answers.
func (k *keeper) ask(do string, numbers int) ([]float64, error) {
	said, err := k.Ask(do)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", do, err)
	}
	words := strings.Fields(said)
	if len(words) != numbers {
		return nil, fmt.Errorf("%s: the process says %q", do, said)
	}
	out := make([]float64, numbers)
	for i, w := range words {
		if out[i], err = strconv.ParseFloat(w, 64); err != nil {
			return nil, fmt.Errorf("%s: the process says %q", do, said)
		}
	}
	return out, nil
}

// end ends the process, once.
func (k *keeper) end() {
	if k.Cmd.ProcessState == nil {
		k.End()
	}
}

// logMax is so little that a node which was away for a moment is repaired.
const logMax = 100

// Keeper is main of such a process.
func Keeper(ctx context.Context, dir, self string, addrs []string) error {
	i, err := strconv.Atoi(self)
	if err != nil || i < 0 || i >= len(addrs) {
		return fmt.Errorf("no node %q of %d", self, len(addrs))
	}
	h := held{dir: dir, self: i, addrs: addrs}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		said, err := h.do(ctx, lines.Text())
		if err != nil {
			return err
		}
		fmt.Println(strings.Trim(fmt.Sprint(said), "[]"))
	}
	if h.node != nil {
		return h.node.Close()
	}
	return nil
}

// held is what a keeper has.
type held struct {
	dir   string
	self  int
	addrs []string

	node  *ddata.Node // nil: not started
	r     *ddata.Replicator
	asked *demand // nil: nothing is asked for
	waste *refuse // nil: garbage is collected when the runtime likes
}

// do does what a word says, and returns numbers.
func (h *held) do(ctx context.Context, line string) ([]float64, error) {
	word, arg, _ := strings.Cut(line, " ")
	switch word {
	case "limit": // of memory, in bytes
		n, err := strconv.ParseInt(arg, 10, 64)
		debug.SetMemoryLimit(n)
		return []float64{float64(n)}, err
	case "start":
		return h.start(ctx)
	case "stop":
		n := h.node
		h.node, h.r = nil, nil
		return []float64{1}, n.Close()
	case "count":
		n, err := h.count(ctx)
		return []float64{float64(n)}, err
	case "change":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return nil, err
		}
		return []float64{float64(n)}, h.change(ctx, n)
	case "sent":
		return []float64{float64(h.node.TransportStats().BytesOut)}, nil
	case "heap":
		return []float64{float64(measure.HeapBytes())}, nil
	case "begin":
		h.asked = startDemand(ctx, h.r)
		return []float64{1}, nil
	case "end":
		return h.asked.end()
	case "collect":
		rest, err := strconv.Atoi(arg)
		h.waste = startCollecting(rest)
		return []float64{1}, err
	case "collected":
		return h.waste.end(), nil
	}
	return nil, fmt.Errorf("unknown word %q", word)
}

// start starts the node.
func (h *held) start(ctx context.Context) ([]float64, error) {
	cpu, begun := measure.CPUTime(), time.Now()
	var err error
	if h.node, err = ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: h.addrs[h.self], Seeds: h.addrs[:1], BootstrapExpect: 1 - min(h.self, 1),
		Roles: []string{role}, Preset: ddata.Local, Dir: h.dir, DurableKeys: []string{"kept/*"},
		Downing:        downing.KeepOldest{}, // the first of two goes on alone
		RequestTimeout: time.Minute, Replication: settings.Config{LogMax: logMax},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}); err != nil {
		return nil, err
	}
	took, used := time.Since(begun), measure.CPUTime()-cpu
	peak, err := measure.PeakMemory()
	if err != nil {
		return nil, err
	}
	if h.r, err = h.node.Replicator(role); err != nil {
		return nil, err
	}
	return []float64{took.Seconds(), used.Seconds(), float64(peak), float64(measure.HeapBytes()),
		float64(h.r.Stats().Repairs)}, nil
}

// count is how many elements the node's sets have.
func (h *held) count(ctx context.Context) (n int, err error) {
	for i := range math.MaxInt {
		set, err := ddata.Get(ctx, h.r, setKey(i), ddata.ReadLocal)
		if err != nil || set.Len() == 0 && i >= setsMin {
			return n, err
		}
		n += set.Len()
	}
	return n, nil
}

// change adds an element to n sets, and to the first again where there are fewer.
func (h *held) change(ctx context.Context, n int) error {
	for i := range n {
		if err := ddata.Update(ctx, h.r, setKey(i%setsMin), ddata.WriteLocal,
			func(s *crdt.ORSetTx[string]) error { return s.Add(fmt.Sprint("changed-", i)) }); err != nil {
			return err
		}
	}
	return nil
}

func setKey(i int) ddata.Key[crdt.ORSet[string]] { return ddata.NewKey[crdt.ORSet[string]](setName(i)) }
