package lmdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coterie-go/coterie/durable"
)

// What lies in a store's directory:
//
//	DIR/coterie.lock           flock; the pid and host of the holder
//	DIR/coterie.mark           until when the holder may be at work; see mark; of no worth after a reboot
//	DIR/coterie.node           whose directory it is, whether a store was made, and the owner's note; see nodeFile
//	DIR/coterie.store/format   "coterie durable store\nformat 1\n", for people, and for programs that know another format
//	DIR/coterie.store/data.mdb the rows: one named database "table/NAME" per table, and "format" with two rows that say that the file is ours and whose
//	DIR/coterie.store/lock.mdb LMDB's readers; worth nothing when no process has the store open
//	DIR/coterie.new            a store or a file in the making; removed at the next opening
//	DIR/coterie.node.new       a node file in the making; likewise
//
// coterie.node is made at the first opening, coterie.store by the first batch that has rows. It
// comes into being by a rename when it is complete, is noted in coterie.node, and only then gets
// its first batch. So a cut at any moment leaves no store or a whole one, and a store that was lost
// is missed.
const (
	lockName    = "coterie.lock"
	markName    = "coterie.mark"
	nodeName    = "coterie.node"
	nodeNewName = "coterie.node.new"
	storeName   = "coterie.store"
	newName     = "coterie.new"
	formatName  = "format"
	dataName    = "data.mdb"
	readerName  = "lock.mdb"

	formatTitle   = "coterie durable store"
	formatVersion = 1

	dirMode  = 0o700
	fileMode = 0o600
)

// Exists reports whether dir is the directory of a node, and so whether there is anything to look
// at. When that cannot be found out it says true, so that Open reports why: nothing starts from
// empty because a disk was not mounted readably.
func Exists(dir string) bool { return exists(filepath.Join(dir, nodeName)) || storeExists(dir) }

func storeExists(dir string) bool { return exists(filepath.Join(dir, storeName)) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Remove deletes what a node has in dir: all rows, its id and its note. It leaves the directory,
// the lock file and whatever else lies there. It refuses with durable.ErrInUse while a process has
// the directory open. After a cut in the middle Open refuses what is left, and Remove can be called
// again.
func Remove(dir string) error {
	if !Exists(dir) {
		return nil
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer lock.release()
	for _, name := range []string{newName, storeName, nodeNewName, markName, nodeName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return unwritable(dir, "can not remove "+name, err)
		}
	}
	if err := syncDir(dir); err != nil {
		return unwritable(dir, "", err)
	}
	return nil
}

// makeDir makes dir when it is missing, and refuses one that is not empty and not ours before
// anything is written into it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return unwritable(dir, "", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unwritable(dir, "", err)
	}
	foreign := ""
	for _, e := range entries {
		switch e.Name() {
		case storeName, nodeName:
			return nil
		case lockName, markName, newName, nodeNewName, "lost+found": // the last is in the root of every ext file system
		default:
			if foreign == "" {
				foreign = e.Name()
			}
		}
	}
	if foreign != "" {
		return &durable.Error{Kind: durable.ErrForeign, Path: dir,
			Detail: fmt.Sprintf("it holds %q and no %s", foreign, nodeName),
			Remedy: "give this node an empty directory or the one that it had"}
	}
	return nil
}

// makeStore makes an empty store under a temporary name and renames it. The directory is locked.
func makeStore(dir string, id uint64, opts Options) error {
	fresh := filepath.Join(dir, newName)
	if err := os.RemoveAll(fresh); err != nil {
		return unwritable(fresh, "", err)
	}
	if err := os.Mkdir(fresh, dirMode); err != nil {
		return fault(fresh, err)
	}
	text := fmt.Sprintf("%s\nformat %d\n", formatTitle, formatVersion)
	if err := writeFile(filepath.Join(fresh, formatName), []byte(text)); err != nil {
		return err
	}
	h, err := openHandle(fresh, opts)
	if err != nil {
		return err
	}
	err = h.writeFormat(id)
	h.close()
	if err != nil {
		return err
	}
	if err := syncDir(fresh); err != nil {
		return fault(fresh, err)
	}
	store := filepath.Join(dir, storeName)
	if err := os.Rename(fresh, store); err != nil {
		return fault(store, err)
	}
	if err := syncDir(dir); err != nil {
		return fault(dir, err)
	}
	return nil
}

// checkFormat reads the format file.
func checkFormat(store string) error {
	path := filepath.Join(store, formatName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return corrupt(path, "it is missing", nil)
	}
	if err != nil {
		return unwritable(path, "", err)
	}
	title, version, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
	if title != formatTitle {
		return corrupt(path, fmt.Sprintf("it does not begin with %q", formatTitle), nil)
	}
	if want := fmt.Sprintf("format %d", formatVersion); version != want {
		return &durable.Error{Kind: durable.ErrVersion, Path: path,
			Detail: fmt.Sprintf("it says %q and this program knows %q", version, want),
			Remedy: remedyVersion}
	}
	return nil
}

// checkData refuses a data file that LMDB would take for a new one and fill from empty.
func checkData(store string) error {
	path := filepath.Join(store, dataName)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return corrupt(path, "it is missing", nil)
	case err != nil:
		return unwritable(path, "", err)
	case st.Size() < 2*int64(os.Getpagesize()):
		return corrupt(path, fmt.Sprintf("it has %d bytes, fewer than its head", st.Size()), nil)
	}
	return nil
}

// writeFile writes a file through to the disk.
func writeFile(path string, content []byte) error { return write(path, content, (*os.File).Sync) }

// write writes a file and calls sync before it closes it.
func write(path string, content []byte, sync func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		return fault(path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = sync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fault(path, err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// EINVAL: a file system whose directories need no sync
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
