package lmdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"syscall"

	"github.com/coterie-go/coterie/durable"
)

// LMDB has no checksums and trusts its file. A file that was cut short, or in which a bit has
// flipped, opens without complaint. A later read or write then leaves the file or the page, and the
// process dies within C code, where Go cannot catch it. So the whole structure is checked before
// LMDB sees the file, by reads and not through a map: every page, node and free page. What is left
// are bits within keys and values, which the digest of the owner finds.
//
// The length of the file does not tell that it was cut. Its head names the last page that was ever
// handed out. A page that was handed out and given back within one transaction is never written, so
// a sound file may be shorter than that.
//
// The layout (the file is of the machine's own byte order and word size; checked on 64-bit machines
// only):
//
//	page   0 number 8 · pad 2 · 10 flags 2 · 12 end of offsets 2 · 14 begin of nodes 2 · 16 offsets of nodes, 2 each
//	node   0 size 4 · 4 flags 2 · 6 key size 2 · 8 key · data        a leaf's; large data is elsewhere, and its page number 8 stands here
//	       0 child page 6 · 6 key size 2 · 8 key                     a branch's, in which the first key counts for nothing
//	large  0 number 8 · pad 2 · 10 flags 2 · 12 pages 4 · data
//	head   (pages 0 and 1) page header 16 · magic 4 · version 4 · address 8 · map size 8 · table 0 at 40 (48) · table 1 (48) · 136 last page 8 · 144 transaction 8
//	table  0 page size 4 · 4 flags 2 · 6 depth 2 · … · 40 root page 8    table 0 lists free pages, table 1 the tables with names
//	free   a row of table 0: count 8 · page numbers, 8 each, falling
const (
	pageHead   = 16
	nodeHead   = 8
	pageBranch = 1
	pageLeaf   = 2
	pageLarge  = 4
	pageMeta   = 8
	nodeLarge  = 1
	nodeTable  = 2
	headMagic  = 16
	headFree   = 40
	headMain   = 88
	headLast   = 136
	headTxn    = 144
	headLen    = 152
	tableLen   = 48
	flagsFree  = 8 // keys are numbers
	pageMin    = 512
	pageMax    = 32 << 10
	noPage     = ^uint64(0)
	depthMax   = 32
)

// magic is how LMDB marks a head, in front of the version.
const (
	magic   = 0xbeefc0de
	version = 1
)

// pages reads pages of the file.
type pages struct {
	fd   int
	size int      // bytes of a page
	have uint64   // whole pages in the file
	last uint64   // page that was ever handed out
	used []uint64 // a bit for each page that was met
	free uint64   // pages on the list of free ones
}

// checkFile refuses a data file that LMDB could not read to its end, and write to. No Env may have
// the file open: LMDB's locks do not bear a second descriptor.
func checkFile(path string) error {
	if bits.UintSize != 64 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return unwritable(path, "", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fault(path, err)
	}
	p := &pages{fd: int(f.Fd())}
	err = p.check(info.Size())
	if system := syscall.Errno(0); errors.As(err, &system) {
		return fault(path, err)
	}
	if err != nil && p.have <= p.last {
		return corrupt(path, fmt.Sprintf("it has %d bytes and should have up to %d",
			info.Size(), (p.last+1)*uint64(p.size)), err)
	}
	if err != nil {
		return corrupt(path, "", err)
	}
	return nil
}

// check walks all that the newest head of a file leads to. A head of another program or version is
// left to LMDB, which refuses it at once.
func (p *pages) check(size int64) error {
	head, err := p.head(0)
	if err != nil || !ours(head) {
		return err
	}
	p.size = int(binary.NativeEndian.Uint32(head[headFree:]))
	if p.size < pageMin || p.size > pageMax || p.size&(p.size-1) != 0 {
		err := fmt.Errorf("its head says that a page has %d bytes", p.size)
		p.size = 0
		return err
	}
	p.have = uint64(size) / uint64(p.size)
	second, err := p.head(int64(p.size))
	if err != nil || !ours(second) {
		return err
	}
	if got := binary.NativeEndian.Uint32(second[headFree:]); int(got) != p.size {
		return fmt.Errorf("one head says that a page has %d bytes, the other %d", p.size, got)
	}
	if binary.NativeEndian.Uint64(second[headTxn:]) > binary.NativeEndian.Uint64(head[headTxn:]) {
		head = second
	}
	return p.checkHead(head)
}

func ours(head []byte) bool {
	return binary.NativeEndian.Uint16(head[10:])&pageMeta != 0 &&
		binary.NativeEndian.Uint32(head[headMagic:]) == magic &&
		binary.NativeEndian.Uint32(head[headMagic+4:]) == version
}

func (p *pages) head(at int64) ([]byte, error) {
	b := make([]byte, headLen)
	if err := p.readInto(b, at); err != nil {
		return nil, err
	}
	return b, nil
}

func (p *pages) checkHead(head []byte) error {
	p.last = binary.NativeEndian.Uint64(head[headLast:])
	if max := uint64(mapSizeMax) / uint64(p.size); p.last < 1 || p.last > max {
		err := fmt.Errorf("its head names page %d as the last one", p.last)
		p.last = 0
		return err
	}
	p.used = make([]uint64, min(p.last, p.have+freeListMax)/64+1)
	free := tree{p: p, name: "the list of free pages", numbers: true, row: p.freeRow}
	if err := free.check(head[headFree:], flagsFree); err != nil {
		return err
	}
	main := tree{p: p, name: "the list of tables", row: p.tableRow}
	return main.check(head[headMain:], 0)
}

// freeListMax is how many pages behind the end of a file may be on the list of free pages: more
// than a transaction can change.
const freeListMax = 1 << 20

// claim notes that pages are in use, of which none may be already.
func (p *pages) claim(number, n uint64) error {
	if number < 2 || n == 0 || number > p.last || n-1 > p.last-number || (number+n-1)/64 >= uint64(len(p.used)) {
		return fmt.Errorf("it leads to page %d, and the pages in use are 2 to %d", number, p.last)
	}
	for x := number; x < number+n; x++ {
		if p.used[x/64]&(1<<(x%64)) != 0 {
			return fmt.Errorf("it leads to page %d, which is in use elsewhere", x)
		}
		p.used[x/64] |= 1 << (x % 64)
	}
	return nil
}

// claimRead is claim for pages that must be in the file.
func (p *pages) claimRead(number, n uint64) error {
	if err := p.claim(number, n); err != nil {
		return err
	}
	if number+n > p.have {
		return fmt.Errorf("page %d is missing", number+n-1)
	}
	return nil
}

// freeRow claims the pages in one row of the list of free pages.
func (p *pages) freeRow(n node) error {
	if n.flags&^nodeLarge != 0 || len(n.key) != 8 || n.size < 8 {
		return errors.New("a row has another form")
	}
	list := n.data
	if n.flags&nodeLarge != 0 {
		list = make([]byte, n.size)
		if err := p.readInto(list, int64(n.large)*int64(p.size)+pageHead); err != nil {
			return err
		}
	}
	count := binary.NativeEndian.Uint64(list)
	if count > uint64(len(list))/8-1 {
		return errors.New("a row is longer than itself")
	}
	above := noPage
	for list = list[8:]; count > 0; list, count = list[8:], count-1 {
		number := binary.NativeEndian.Uint64(list)
		if number >= above {
			return errors.New("a row is not in order")
		}
		if err := p.claim(number, 1); err != nil {
			return err
		}
		above = number
		p.free++
	}
	return nil
}

// tableRow checks a table with a name.
func (p *pages) tableRow(n node) error {
	if n.flags != nodeTable || len(n.data) != tableLen {
		return errors.New("a row is no table")
	}
	t := tree{p: p, name: fmt.Sprintf("table %q", n.key), row: rowWithValue}
	return t.check(n.data, 0)
}

// rowWithValue refuses what no Commit has written: an empty value could lie behind the end of the
// file.
func rowWithValue(n node) error {
	if n.flags&^nodeLarge != 0 || n.size == 0 || len(n.key) > durable.KeyMax {
		return errors.New("a row has another form")
	}
	return nil
}

// readInto fills b from a place in the file.
func (p *pages) readInto(b []byte, at int64) error {
	for got := 0; got < len(b); {
		n, err := syscall.Pread(p.fd, b[got:], at+int64(got))
		if err == nil && n == 0 {
			return errors.New("it ends within a page")
		}
		if err != nil && err != syscall.EINTR {
			return err
		}
		got += max(n, 0)
	}
	return nil
}
