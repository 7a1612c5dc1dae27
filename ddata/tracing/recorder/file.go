package recorder

import (
	"io"
	"os"
)

// File keeps what was written last, in a file and in one beside it with the name and ".1", which has what was
// written before. It is for one goroutine.
type File struct {
	path string
	half int64
	f    *os.File // nil: it could not be made, or is closed
	size int64
}

var _ io.WriteCloser = (*File)(nil)

// OlderSuffix is behind the name of the file that has what was written before.
const OlderSuffix = ".1"

// Create makes a File anew, for at most so many bytes in both files; what is written at once counts whole. An
// older pair of files is lost.
func Create(path string, most int64) (*File, error) {
	if err := os.Remove(path + OlderSuffix); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, half: most / 2, f: f}, nil
}

// Write implements io.Writer. It begins the file anew if the bytes find no room.
func (f *File) Write(b []byte) (int, error) {
	if f.f == nil {
		return 0, os.ErrClosed
	}
	if f.size > 0 && f.size+int64(len(b)) > f.half {
		if err := f.turn(); err != nil {
			return 0, err
		}
	}
	n, err := f.f.Write(b)
	f.size += int64(n)
	return n, err
}

// turn has the file be the older one, and begins another.
func (f *File) turn() error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.path, f.path+OlderSuffix)
	}
	if err == nil {
		f.f, err = os.Create(f.path)
	}
	f.size = 0
	return err
}

// Close implements io.Closer.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	open := f.f
	f.f = nil
	return open.Close()
}
