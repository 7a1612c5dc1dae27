package replicated

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// seat is the right of one process to write to a shard. A hosting has one, and another one for each
// time that its calls come from another process. Seats are ordered by token, turn and origin.
type seat struct {
	token  singleton.FencingToken
	turn   uint64 // counts the seats of a token
	origin crdt.Origin
}

func (s seat) compare(o seat) int {
	return cmp.Or(s.token.Compare(o.token), cmp.Compare(s.turn, o.turn), cmp.Compare(s.origin, o.origin))
}

func appendSeat(b []byte, s seat) []byte { return cbor.AppendUint(appendToken(b, s.token), s.turn) }

func readSeat(in *cbor.Reader, d crdt.Dot) seat {
	return seat{token: readToken(in), turn: in.Uint(), origin: d.Origin}
}

func (s seat) encodeIntent() string {
	return string(appendSeat(cbor.AppendUint(cbor.AppendArray(nil, 6), uint(format)), s))
}

func readIntent(it *crdt.Item) (seat, error) {
	in := opened(it.Payload, 6)
	s := readSeat(in, it.Dot)
	if err := in.End(); err != nil {
		return seat{}, damaged(it, err)
	}
	return s, nil
}

// head is the last transaction of a seat. It is the last event of its transaction, and drops the
// head before it. So no replica applies a transaction without all those before it.
type head struct {
	seat
	from uint64 // the first dot of the seat
	last uint64 // the dot of the head itself; 0: there is no head
}

func (h head) encode() string {
	b := appendSeat(cbor.AppendUint(cbor.AppendArray(nil, 7), uint(format)), h.seat)
	return string(cbor.AppendUint(b, h.from))
}

// row is the dots of a seat that count.
type row struct {
	origin      crdt.Origin
	first, last uint64
	number      uint64 // of the seat in its chain
}

func (r row) has(d crdt.Dot) bool { return r.origin == d.Origin && r.first <= d.Seq && d.Seq <= r.last }

// rows are those of the seats before the last one, in the order of their seats. Rows of which no
// item is alive may be missing. A seat has the number after that of the seat that it follows, from 1.
type rows struct {
	sweep  uint64 // the number of rows at which those without items are looked for
	number uint64 // of the last seat; 0: there is none
	all    []row
	sorted []int // indexes of all, by origin and dot
}

func (r rows) encode() string {
	b := cbor.AppendUint(cbor.AppendArray(nil, 4), uint(format))
	b = cbor.AppendArray(cbor.AppendUints(b, r.sweep, r.number), 4*len(r.all))
	for _, s := range r.all {
		b = cbor.AppendUints(b, uint64(s.origin), s.first, s.last, s.number)
	}
	return string(b)
}

// rowsMax bounds the rows of a shard. Their payload has at most 36 bytes for each.
const rowsMax = crdt.PayloadMax / 64

func decodeRows(it *crdt.Item) (r rows, err error) {
	in := opened(it.Payload, 4)
	r.sweep, r.number = in.Uint(), in.Uint()
	n := in.Array(4 * rowsMax)
	for range n / 4 {
		r.all = append(r.all, row{
			origin: crdt.Origin(in.Uint()), first: in.Uint(), last: in.Uint(), number: in.Uint(),
		})
	}
	if err := in.End(); err != nil {
		return rows{}, damaged(it, err)
	}
	return sorted(r), nil
}

func sorted(r rows) rows {
	r.sorted = make([]int, len(r.all))
	for i := range r.sorted {
		r.sorted[i] = i
	}
	slices.SortFunc(r.sorted, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.all[a].origin, r.all[b].origin), cmp.Compare(r.all[a].first, r.all[b].first))
	})
	return r
}

// index returns the place of the row that has a dot.
func (r rows) index(d crdt.Dot) (int, bool) {
	at, _ := slices.BinarySearchFunc(r.sorted, d, func(i int, d crdt.Dot) int {
		return cmp.Or(cmp.Compare(r.all[i].origin, d.Origin), cmp.Compare(r.all[i].last, d.Seq))
	})
	if at == len(r.sorted) || !r.all[r.sorted[at]].has(d) {
		return 0, false
	}
	return r.sorted[at], true
}

// view is the state of a shard in a replica at one moment. What counts in it is decided by its top,
// which is the head of the highest seat that has one.
type view struct {
	r      crdt.Reader
	heads  []*crdt.Item
	top    head // last is 0 if the shard has no head
	rows   rows
	intent seat   // the highest that wants the shard
	sure   uint64 // the last dot of the top that is known to be settled

	allCount bool // see planted
}

// viewOf reads what decides. known has rows that were read before.
func viewOf(r crdt.Reader, known *knownRows) (v view, err error) {
	v.r, v.heads = r, r.At(pathHead)
	if v.top, err = topOf(v.heads); err != nil {
		return view{}, err
	}
	for _, it := range r.At(pathIntent) {
		s, err := readIntent(it)
		if err != nil {
			return view{}, err
		}
		if s.compare(v.intent) > 0 {
			v.intent = s
		}
	}
	for _, it := range r.At(pathRows) {
		if !v.ofTop(it.Dot) {
			continue
		}
		if v.rows, err = known.of(it); err != nil {
			return view{}, err
		}
	}
	return v, nil
}

// topOf returns the head of the highest seat.
func topOf(heads []*crdt.Item) (top head, err error) {
	for _, it := range heads {
		in := opened(it.Payload, 7)
		h := head{seat: readSeat(in, it.Dot), from: in.Uint(), last: it.Dot.Seq}
		if err := in.End(); err != nil {
			return head{}, damaged(it, err)
		}
		if top.last == 0 || h.compare(top.seat) > 0 {
			top = h
		}
	}
	return top, nil
}

// knownRows keeps the rows of the item that was read last. It may be used from any goroutine.
type knownRows struct{ last atomic.Pointer[ofItem] }

type ofItem struct {
	dot  crdt.Dot
	rows rows
}

func (k *knownRows) of(it *crdt.Item) (rows, error) {
	if last := k.last.Load(); last != nil && last.dot == it.Dot {
		return last.rows, nil
	}
	r, err := decodeRows(it)
	if err == nil {
		k.last.Store(&ofItem{it.Dot, r})
	}
	return r, err
}

// ofTop reports whether a dot is of the top's seat.
func (v view) ofTop(d crdt.Dot) bool {
	return v.top.last != 0 && d.Origin == v.top.origin && v.top.from <= d.Seq && d.Seq <= v.top.last
}

// place returns where a dot stands among those of the shard that count. ok reports whether it
// counts. What does not count never will in a shard whose top is settled.
func (v view) place(d crdt.Dot) (p place, ok bool) {
	if v.ofTop(d) {
		return place{v.rows.number, d.Seq}, true
	}
	i, ok := v.rows.index(d)
	if ok {
		return place{v.rows.all[i].number, d.Seq}, true
	}
	return place{0, d.Seq}, v.allCount
}

// counted reports whether a transaction counts. Its seat was opened once. A sweep drops the row of
// a seat of which nothing is alive: known is false then, for what counted may have been deleted.
func (v view) counted(h head) (counts, known bool) {
	if _, counts = v.place(crdt.Dot{Origin: h.origin, Seq: h.last}); counts {
		return true, true
	}
	_, known = v.place(crdt.Dot{Origin: h.origin, Seq: h.from})
	return false, known
}

// end is the place of the last thing that counts.
func (v view) end() place { return place{v.rows.number, v.top.last} }

// isSettled reports whether a dot that counts is known to be settled.
func (v view) isSettled(d crdt.Dot) bool { return !v.ofTop(d) || d.Seq <= v.sure }

func (v view) counts(it *crdt.Item) bool {
	_, ok := v.place(it.Dot)
	return ok
}

// later reports whether item a was written after item b. Both count.
func (v view) later(a, b *crdt.Item) bool {
	x, _ := v.place(a.Dot)
	y, _ := v.place(b.Dot)
	return x.compare(y) > 0
}

// taken reports whether a seat that is above the top wants the shard.
func (v view) taken() bool { return v.intent.compare(v.top.seat) > 0 }

// highest is the highest token that wants the shard or has it.
func (v view) highest() singleton.FencingToken {
	if v.taken() {
		return v.intent.token
	}
	return v.top.token
}

// counting returns the item that counts of those at one path, nil if there is none.
func (v view) counting(items []*crdt.Item) *crdt.Item {
	for _, it := range items {
		if v.counts(it) {
			return it
		}
	}
	return nil
}

// closed returns the rows for the seat after the top.
func (v view) closed() rows {
	out := rows{sweep: max(v.rows.sweep, sweepMin), number: v.rows.number + 1, all: slices.Clone(v.rows.all)}
	if v.top.last != 0 {
		out.all = append(out.all, row{v.top.origin, v.top.from, v.top.last, v.rows.number})
	}
	return out
}

// sweepMin is the number of rows from which those without items are looked for.
const sweepMin = 64

// without drops the rows of which nothing was alive in a former view of the shard: nothing of them
// comes back. It plans the next sweep for twice what stays, so that its cost is spread over the
// seats between.
func (r rows) without(dead []row) rows {
	r.all = slices.DeleteFunc(r.all, func(s row) bool { return slices.Contains(dead, s) })
	r.sweep = max(sweepMin, 2*uint64(len(r.all)))
	return r
}

// dead returns the rows of which nothing is alive, after a walk over the shard.
func (v view) dead() (out []row) {
	alive := make([]bool, len(v.rows.all))
	for it := range v.r.Items(entities) {
		if i, ok := v.rows.index(it.Dot); ok {
			alive[i] = true
		}
	}
	for i, s := range v.rows.all {
		if !alive[i] {
			out = append(out, s)
		}
	}
	return out
}

// void returns the items of entities that do not count, at most as many as go in one transaction,
// after a walk over the shard.
func (v view) void() (out []crdt.Dot) {
	for it := range v.r.Items(entities) {
		if len(out) == voidMax {
			break
		}
		if !v.counts(it) {
			out = append(out, it.Dot)
		}
	}
	return out
}

// voidMax bounds the items that one sweep drops.
const voidMax = 1 << 16

// dots names items.
func dots(items []*crdt.Item) (out []crdt.Dot) {
	for _, it := range items {
		out = append(out, it.Dot)
	}
	return out
}
