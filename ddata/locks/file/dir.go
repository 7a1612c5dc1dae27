package file

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Dir is a directory of leases.
type Dir struct {
	path string
	id   string
}

var _ locks.Store = (*Dir)(nil)

const (
	idName   = "id"
	idMagic  = "coterie leases 1 "
	dirMode  = 0o700
	fileMode = 0o600
)

// Open opens a directory of leases, and makes it when it is missing. The parent must exist. A
// directory that another user owns, or may write, is locks.ErrUnusable.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, unusable(path, "", err)
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, unusable(path, "", err)
	}
	if kind, remote := network(path); remote {
		return nil, unusable(path, "it lies on "+kind+", whose locks other hosts do not see in time", nil)
	}
	if err := checkDir(path); err != nil {
		return nil, err
	}
	id, err := identify(path)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, id: id}, nil
}

// ID implements locks.Store.
func (d *Dir) ID() string { return d.id }

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Lock implements locks.Store.
func (d *Dir) Lock(name, owner string) (locks.Lock, error) {
	if err := locks.CheckName(name); err != nil {
		return nil, err
	}
	file := fileName(name)
	return &door{
		dir: d.path, lock: filepath.Join(d.path, file+".lock"),
		state: filepath.Join(d.path, file+".state"), owner: owner,
	}, nil
}

// fileName returns the name of the file for a lease. Two leases never share one, even if the file
// system ignores case or composes letters. A byte other than a lower-case letter, digit, hyphen or
// inner dot of ASCII becomes %xx: a leading dot would hide the file or lead out of the directory. A
// name that becomes too long ends in its hash.
func fileName(name string) string {
	const most = 200
	b := make([]byte, 0, len(name))
	for i, c := range []byte(name) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' && i > 0 {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02x", c)
		}
	}
	if len(b) > most {
		return fmt.Sprintf("%s~%x", b[:100], sha256.Sum256([]byte(name)))
	}
	return string(b)
}

// identify reads which store this is; a directory that is empty becomes one.
func identify(dir string) (string, error) {
	path := filepath.Join(dir, idName)
	for range 2 {
		b, err := os.ReadFile(path)
		if err == nil {
			id, ok := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), idMagic)
			if !ok || len(id) != 32 {
				return "", foreign(path, "the file is none of ours")
			}
			return id, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", unusable(path, "", err)
		}
		if err := found(dir, path); err != nil {
			return "", err
		}
	}
	return "", unusable(path, "it was removed while it was read", nil)
}

// found makes the id of an empty directory. When several processes do so at once, one makes it: a
// link does not replace a file.
func found(dir, path string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unusable(dir, "", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), idName) {
			return foreign(dir, "it holds "+e.Name()+" and no id")
		}
	}
	random := make([]byte, 16)
	rand.Read(random)
	scratch := path + "." + hex.EncodeToString(random)
	if err := writeSynced(scratch, []byte(idMagic+hex.EncodeToString(random)+"\n")); err != nil {
		return unusable(scratch, "", err)
	}
	defer os.Remove(scratch)
	if err := os.Link(scratch, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return unusable(path, "", err)
	}
	if err := syncDir(dir); err != nil {
		return unusable(dir, "", err)
	}
	return nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(fileMode), f.Sync(), f.Close()) // the file may be left over, with another mode
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func unusable(path, detail string, cause error) error {
	remedy := "give all nodes of the host one directory on a local disk that their user owns, and that no other " +
		"user may write"
	switch {
	case errors.Is(cause, syscall.EMFILE):
		detail = "the process has as many open files as it may, and each lease that is held is one"
		remedy = "raise its limit on open files (ulimit -n, LimitNOFILE) beyond the leases that a node may hold, or " +
			"have fewer shards"
	case errors.Is(cause, syscall.ENFILE):
		detail, remedy = "the host has as many open files as it may", "raise the limit of the system (fs.file-max)"
	}
	return &locks.Error{Kind: locks.ErrUnusable, Path: path, Detail: detail, Cause: cause, Remedy: remedy}
}

func foreign(path, detail string) error {
	return &locks.Error{
		Kind: locks.ErrForeign, Path: path, Detail: detail,
		Remedy: "give an empty directory, or one that was made for leases",
	}
}
