package lmdb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/durable"
)

// tree checks one table of a file; see whole.go.
type tree struct {
	p       *pages
	name    string
	numbers bool             // keys are numbers, and this is the list of free pages
	row     func(node) error // checks one row
	bufs    [depthMax][]byte // a page for each level

	low  []byte // no key may come before it
	past bool   // nor be equal to it
	any  bool   // low is set
}

// node is one row of a leaf, or one child of a branch.
type node struct {
	size       int64 // of the data
	flags      uint16
	key, data  []byte
	large      uint64 // the first page of large data
	child      uint64
	roundedLen int // of the node in its page
}

// check walks the tree that a table of a head or a row begins.
func (t *tree) check(table []byte, flags uint16) error {
	depth, root := int(binary.NativeEndian.Uint16(table[6:])), binary.NativeEndian.Uint64(table[40:])
	if got := binary.NativeEndian.Uint16(table[4:]); got != flags {
		return fmt.Errorf("%s has the flags %#x", t.name, got)
	}
	switch {
	case depth == 0 && root == noPage:
		return nil
	case depth == 0 || depth > depthMax || root == noPage:
		return fmt.Errorf("%s has the depth %d and begins at page %d", t.name, depth, root)
	}
	return t.page(root, depth)
}

// page checks a page and all below it. A leaf has the depth 1.
func (t *tree) page(number uint64, depth int) error {
	b, err := t.read(number, depth)
	if err != nil {
		return err
	}
	bad := func(err error) error { return fmt.Errorf("%s, page %d: %w", t.name, number, err) }
	end, begin := int(binary.NativeEndian.Uint16(b[12:])), int(binary.NativeEndian.Uint16(b[14:]))
	least := 1
	if depth > 1 && !t.numbers {
		least = 2
	}
	if end < pageHead+2*least || end%2 != 0 || end > begin || begin > len(b) {
		return bad(fmt.Errorf("its nodes are said to be in %d to %d", end, begin))
	}
	filled := 0
	for at := pageHead; at < end; at += 2 {
		n, err := nodeAt(b, begin, int(binary.NativeEndian.Uint16(b[at:])), depth > 1)
		if err != nil {
			return bad(err)
		}
		filled += n.roundedLen
		if depth == 1 {
			if err := t.leafNode(n); err != nil {
				return bad(err)
			}
			continue
		}
		if err := t.separator(n, at == pageHead); err != nil {
			return bad(err)
		}
		if err := t.page(n.child, depth-1); err != nil {
			return err
		}
	}
	if filled != len(b)-begin {
		return bad(fmt.Errorf("its nodes fill %d bytes of %d", filled, len(b)-begin))
	}
	return nil
}

// read reads a page of a tree and checks its header. The bytes hold until a page of the same depth
// is read.
func (t *tree) read(number uint64, depth int) ([]byte, error) {
	if err := t.p.claimRead(number, 1); err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	if t.bufs[depth-1] == nil {
		t.bufs[depth-1] = make([]byte, t.p.size)
	}
	b := t.bufs[depth-1]
	if err := t.p.readInto(b, int64(number)*int64(t.p.size)); err != nil {
		return nil, err
	}
	flags := uint16(pageBranch)
	if depth == 1 {
		flags = pageLeaf
	}
	if got := binary.NativeEndian.Uint16(b[10:]); binary.NativeEndian.Uint64(b) != number || got != flags {
		return nil, fmt.Errorf("%s: page %d calls itself page %d with the flags %#x",
			t.name, number, binary.NativeEndian.Uint64(b), got)
	}
	return b, nil
}

var errOutside = errors.New("a node is outside of the place for nodes")

// nodeAt takes a node out of a page whose nodes begin at begin.
func nodeAt(b []byte, begin, at int, branch bool) (n node, err error) {
	if at < begin || at%2 != 0 || at+nodeHead > len(b) {
		return n, errOutside
	}
	b = b[at:]
	n.size = int64(binary.NativeEndian.Uint32(b))
	n.flags = binary.NativeEndian.Uint16(b[4:])
	length := nodeHead + int(binary.NativeEndian.Uint16(b[6:]))
	switch {
	case length > len(b):
		return n, errOutside
	case branch:
		n.child = uint64(n.size) | uint64(n.flags)<<32
		n.key = b[nodeHead:length]
	default:
		n.key, n.data = b[nodeHead:length], b[length:]
		inPage := n.size
		if n.flags&nodeLarge != 0 {
			inPage = 8
		}
		if inPage > int64(len(n.data)) {
			return n, errOutside
		}
		n.data = n.data[:inPage]
		length += int(inPage)
	}
	n.roundedLen = length + length%2
	if n.roundedLen > len(b) {
		return n, errOutside
	}
	return n, nil
}

// leafNode checks a row, and the pages of its data.
func (t *tree) leafNode(n node) error {
	if len(n.key) == 0 || len(n.key) > durable.KeyMax {
		return fmt.Errorf("a key has %d bytes", len(n.key))
	}
	if err := t.ascend(n.key, true); err != nil {
		return err
	}
	if n.flags&nodeLarge != 0 {
		n.large = binary.NativeEndian.Uint64(n.data)
		if err := t.p.checkLarge(n.large, n.size); err != nil {
			return err
		}
	}
	return t.row(n)
}

// separator checks the key of a child: all below the child are at or after it. The first key of a
// page says nothing.
func (t *tree) separator(n node, first bool) error {
	if first {
		return nil
	}
	if len(n.key) == 0 || len(n.key) > durable.KeyMax {
		return fmt.Errorf("a key has %d bytes", len(n.key))
	}
	return t.ascend(n.key, false)
}

// ascend moves the bound up to a key, which the next one must be past if it is a row's.
func (t *tree) ascend(key []byte, row bool) error {
	if t.numbers && len(key) != 8 {
		return fmt.Errorf("a key has %d bytes", len(key))
	}
	if t.any {
		order := bytes.Compare(key, t.low)
		if t.numbers {
			order = cmp.Compare(binary.NativeEndian.Uint64(key), binary.NativeEndian.Uint64(t.low))
		}
		if order < 0 || order == 0 && t.past {
			return errors.New("its keys are not in order")
		}
	}
	t.low, t.past, t.any = append(t.low[:0], key...), row, true
	return nil
}

// checkLarge checks the head of data that fills pages of its own, and claims them. They may be more
// than the data needs: LMDB puts a smaller value in the place of a larger one.
func (p *pages) checkLarge(number uint64, size int64) error {
	if err := p.claimRead(number, 1); err != nil {
		return err
	}
	var b [pageHead]byte
	if err := p.readInto(b[:], int64(number)*int64(p.size)); err != nil {
		return err
	}
	needs := (uint64(size) + pageHead + uint64(p.size) - 1) / uint64(p.size)
	flags, count := binary.NativeEndian.Uint16(b[10:]), uint64(binary.NativeEndian.Uint32(b[12:]))
	if binary.NativeEndian.Uint64(b[:]) != number || flags != pageLarge || count < needs {
		return fmt.Errorf("its data at page %d calls itself page %d with the flags %#x and %d pages, and needs %d",
			number, binary.NativeEndian.Uint64(b[:]), flags, count, needs)
	}
	if count == 1 {
		return nil
	}
	return p.claimRead(number+1, count-1)
}
