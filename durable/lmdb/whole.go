package lmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"syscall"
)

// A file that was cut short must be refused: LMDB opens it without complaint, and the first read behind its end kills the process. The length alone
// does not tell. The head of the file names the last page that was ever handed out, but a page that was handed out and given back within one
// transaction is never written, so a sound file may be shorter than its head says, if all the pages that it lacks are on the list of free pages. That
// list is a tree in the same file and may itself be cut, so it is read here, page by page and with every length checked, and not by LMDB.
//
// The layout (the file is of the machine's own byte order and word size; checked on 64-bit machines only):
//
//	page   0 number 8 · pad 2 · 10 flags 2 · 12 end of offsets 2 · 14 … · 16 offsets of nodes, 2 each
//	node   0 size 4 · 4 flags 2 · 6 key size 2 · 8 key · data        a leaf's; large data is elsewhere, and its page number 8 stands here
//	       0 child page 6 · 6 key size 2 · 8 key                     a branch's
//	head   (pages 0 and 1) page header 16 · magic 4 · version 4 · address 8 · map size 8 · table 0 at 40 (48) · table 1 (48) · 136 last page 8 · 144 transaction 8
//	table  0 page size 4 · flags 2 · 6 depth 2 · … · 40 root page 8
//	free   a row of table 0: count 8 · page numbers, 8 each

const (
	pageHead     = 16
	nodeHead     = 8
	pageBranch   = 1
	pageLeaf     = 2
	nodeLarge    = 1
	headFreeRoot = 40 + 40
	headTxn      = 144
	headLen      = 152
	noPage       = ^uint64(0)
	depthMax     = 32
)

var errCut = errors.New("a page of the list of free pages is missing")

// pages reads pages of the file by descriptor; see handle.size.
type pages struct {
	fd   int
	size int    // bytes of a page
	have uint64 // whole pages in the file
	seen uint64 // pages walked; more than there are means a loop
}

// checkWhole refuses a file that lacks pages that are in use.
func (h *handle) checkWhole() error {
	info, err := h.env.Info()
	if err != nil {
		return fault(h.file, err)
	}
	stat, err := h.env.Stat()
	if err != nil {
		return fault(h.file, err)
	}
	size, err := h.size()
	if err != nil {
		return fault(h.file, err)
	}
	p := &pages{fd: int(h.fd), size: int(stat.PSize), have: uint64(size) / uint64(stat.PSize)}
	all := uint64(info.LastPNO) + 1
	if p.have >= all || bits.UintSize != 64 {
		return nil
	}
	free, err := p.freeFrom(p.have, uint64(info.LastTxnID))
	if lacks := all - p.have; err != nil || free < lacks {
		return corrupt(h.file, fmt.Sprintf("it has %d bytes and should have up to %d; of the %d pages behind its end only %d may be missing", size,
			all*uint64(p.size), lacks, free), err)
	}
	return nil
}

// freeFrom counts the free pages from a number on, as transaction txn left them.
func (p *pages) freeFrom(from, txn uint64) (count uint64, err error) {
	for head := range uint64(2) {
		b, err := p.read(head)
		if err != nil {
			return 0, err
		}
		if len(b) < headLen || binary.NativeEndian.Uint64(b[headTxn:]) != txn {
			continue
		}
		root := binary.NativeEndian.Uint64(b[headFreeRoot:])
		if root == noPage {
			return 0, nil
		}
		err = p.walk(root, depthMax, func(list []byte) {
			for ; len(list) >= 8; list = list[8:] {
				if binary.NativeEndian.Uint64(list) >= from {
					count++
				}
			}
		})
		return count, err
	}
	return 0, errors.New("no head of the file is of the last transaction")
}

// walk calls visit with each list of page numbers below a page.
func (p *pages) walk(number uint64, depth int, visit func(list []byte)) error {
	b, err := p.read(number)
	if err != nil {
		return err
	}
	flags, end := binary.NativeEndian.Uint16(b[10:]), int(binary.NativeEndian.Uint16(b[12:]))
	if p.seen++; p.seen > p.have || depth == 0 || end < pageHead || end > len(b) || flags&(pageBranch|pageLeaf) == 0 {
		return fmt.Errorf("page %d is not a page of a tree", number)
	}
	for at := pageHead; at < end; at += 2 {
		node := b[min(int(binary.NativeEndian.Uint16(b[at:])), len(b)):]
		if len(node) < nodeHead {
			return fmt.Errorf("page %d has a node outside of it", number)
		}
		if flags&pageBranch != 0 {
			child := uint64(binary.NativeEndian.Uint32(node)) | uint64(binary.NativeEndian.Uint16(node[4:]))<<32
			err = p.walk(child, depth-1, visit)
		} else {
			err = p.leaf(node, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf calls visit with the page numbers in one row of table 0.
func (p *pages) leaf(node []byte, visit func(list []byte)) error {
	size := int64(binary.NativeEndian.Uint32(node))
	large := binary.NativeEndian.Uint16(node[4:])&nodeLarge != 0
	data := node[min(nodeHead+int(binary.NativeEndian.Uint16(node[6:])), len(node)):]
	if large {
		if len(data) < 8 {
			return errors.New("a row of the list of free pages is cut")
		}
		var err error
		if data, err = p.readLarge(binary.NativeEndian.Uint64(data), size); err != nil {
			return err
		}
	}
	if size < 8 || int64(len(data)) < size {
		return errors.New("a row of the list of free pages is cut")
	}
	n := binary.NativeEndian.Uint64(data)
	if n > uint64(size)/8-1 {
		return errors.New("a row of the list of free pages is longer than itself")
	}
	visit(data[8 : 8+8*n])
	return nil
}

func (p *pages) read(number uint64) ([]byte, error) {
	b, err := p.readAt(number, int64(p.size))
	if err == nil && len(b) < pageHead {
		err = errCut
	}
	return b, err
}

// readLarge reads data that fills pages of its own, behind the header of the first.
func (p *pages) readLarge(number uint64, size int64) ([]byte, error) {
	b, err := p.readAt(number, pageHead+size)
	if err != nil {
		return nil, err
	}
	return b[pageHead:], nil
}

func (p *pages) readAt(number uint64, size int64) ([]byte, error) {
	n := (uint64(size) + uint64(p.size) - 1) / uint64(p.size)
	if number >= p.have || n > p.have-number {
		return nil, errCut
	}
	b := make([]byte, size)
	for got := 0; got < len(b); {
		n, err := syscall.Pread(p.fd, b[got:], int64(number)*int64(p.size)+int64(got))
		if err == nil && n == 0 {
			err = errCut
		}
		if err != nil && err != syscall.EINTR {
			return nil, err
		}
		got += max(n, 0)
	}
	return b, nil
}
