package lmdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/durable"
)

// nodeFile holds what belongs to a directory whether it has a store or not: its identity, whether a
// store was ever made in it, and a note of its owner. It is made at the first opening, with all the
// room that it will ever need: a full disk must not keep a node from noting which view it is in.
//
//	head    "coterie node\nformat 1\n", zeros up to nodeHeadSize
//	slot 0  number 8 · length 4 · checksum 8 · CBOR map {1: id, 2: a store was made, 3: note}
//	slot 1  likewise; each slot takes slotSize
//
// A change is written over the older slot, so that a cut leaves the newer one. The valid slot with
// the higher number counts. Integers are big-endian.
type nodeFile struct {
	mu    sync.Mutex
	file  *os.File
	path  string
	state nodeState
	count uint64 // number of the slot that counts

	id     uint64        // that of state
	change atomic.Uint64 // count, for readers that wait for no disk
}

// nodeState is what a slot holds.
type nodeState struct {
	ID   uint64 `cbor:"1,keyasint"` // drawn when the directory was made; the store has it too
	Made bool   `cbor:"2,keyasint"` // a store was made: if there is none, it was lost
	Note []byte `cbor:"3,keyasint"`
}

const (
	nodeTitle    = "coterie node"
	nodeFormat   = 1
	nodeHeadSize = 4 << 10
	slotSize     = 1 << 20
	slotHead     = 20
	nodeSize     = nodeHeadSize + 2*slotSize

	// NoteMax bounds a note, in bytes.
	NoteMax = slotSize - 1024
)

// openNode opens the node file of a locked directory, and makes one where there was never a store.
func openNode(dir string) (*nodeFile, error) {
	n := &nodeFile{path: filepath.Join(dir, nodeName)}
	f, err := os.OpenFile(n.path, os.O_RDWR, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		if storeExists(dir) {
			return nil, corrupt(n.path, "it is missing, and there is a store", nil)
		}
		if err := makeNode(dir); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(n.path, os.O_RDWR, fileMode)
	}
	if err != nil {
		return nil, unwritable(n.path, "", err)
	}
	content, err := io.ReadAll(io.LimitReader(f, nodeSize+1))
	if err == nil {
		n.state, n.count, err = decodeNode(n.path, content)
	}
	if err != nil {
		f.Close()
		return nil, fault(n.path, err)
	}
	n.file, n.id = f, n.state.ID
	n.change.Store(n.count)
	return n, nil
}

// makeNode writes a node file under a temporary name and renames it.
func makeNode(dir string) error {
	content := make([]byte, nodeSize)
	copy(content, fmt.Sprintf("%s\nformat %d\n", nodeTitle, nodeFormat))
	copy(content[slotAt(1):], encodeSlot(nodeState{ID: rand.Uint64() | 1}, 1))
	fresh, path := filepath.Join(dir, nodeNewName), filepath.Join(dir, nodeName)
	if err := writeFile(fresh, content); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return fault(path, err)
	}
	if err := syncDir(dir); err != nil {
		return fault(dir, err)
	}
	_ = syncDir(filepath.Dir(dir)) // dir itself may be new; not every parent may be read
	return nil
}

// slotAt is where the slot with a number begins.
func slotAt(count uint64) int64 { return nodeHeadSize + int64(count%2)*slotSize }

func encodeSlot(s nodeState, count uint64) []byte {
	slot := cbor.Records.MustAppend(make([]byte, slotHead), s)
	binary.BigEndian.PutUint64(slot, count)
	binary.BigEndian.PutUint32(slot[8:], uint32(len(slot)-slotHead))
	binary.BigEndian.PutUint64(slot[12:], slotSum(slot))
	return slot
}

// slotSum is the checksum of a slot, whose own field counts as zero.
func slotSum(slot []byte) uint64 {
	h := xxh3.New()
	_, _ = h.Write(slot[:12])
	_, _ = h.Write(slot[slotHead:])
	return h.Sum64()
}

// decodeNode finds the slot that counts in the content of a file.
func decodeNode(path string, content []byte) (s nodeState, count uint64, err error) {
	title, rest, _ := bytes.Cut(content, []byte("\n"))
	version, _, _ := bytes.Cut(rest, []byte("\n"))
	switch want := fmt.Sprintf("format %d", nodeFormat); {
	case string(title) != nodeTitle:
		return s, 0, corrupt(path, fmt.Sprintf("it does not begin with %q", nodeTitle), nil)
	case string(version) != want:
		return s, 0, &durable.Error{Kind: durable.ErrVersion, Path: path,
			Detail: fmt.Sprintf("it says %.40q and this program knows %q", version, want),
			Remedy: remedyVersion}
	case len(content) != nodeSize:
		return s, 0, corrupt(path, fmt.Sprintf("it has %d bytes and should have %d", len(content), nodeSize), nil)
	}
	for i := range uint64(2) {
		if t, n, ok := decodeSlot(content[slotAt(i):][:slotSize]); ok && n > count && n%2 == i {
			s, count = t, n
		}
	}
	if count == 0 || s.ID == 0 {
		return s, 0, corrupt(path, "neither of its halves is whole", nil)
	}
	return s, count, nil
}

func decodeSlot(slot []byte) (s nodeState, count uint64, ok bool) {
	n := binary.BigEndian.Uint32(slot[8:])
	if int64(n) > int64(len(slot)-slotHead) {
		return s, 0, false
	}
	slot = slot[:slotHead+int(n)]
	if binary.BigEndian.Uint64(slot[12:]) != slotSum(slot) || cbor.Records.Decode(slot[slotHead:], &s) != nil {
		return nodeState{}, 0, false
	}
	return s, binary.BigEndian.Uint64(slot), true
}

// put writes a change through to the disk. After an error the file is as it was, or holds the
// change: a cut at that moment decides.
func (n *nodeFile) put(change func(*nodeState)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return closedError(filepath.Dir(n.path))
	}
	next := n.state
	change(&next)
	_, err := n.file.WriteAt(encodeSlot(next, n.count+1), slotAt(n.count+1))
	if err == nil {
		err = n.file.Sync()
	}
	if err != nil {
		return fault(n.path, err)
	}
	n.state = next
	n.count++
	n.change.Store(n.count)
	return nil
}

func (n *nodeFile) get() nodeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// identity names the directory and its last change that is on the disk. It does not wait for a
// change that is on its way.
func (n *nodeFile) identity() (id, change uint64) { return n.id, n.change.Load() }

func (n *nodeFile) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
}
