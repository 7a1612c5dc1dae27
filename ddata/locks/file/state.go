package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/coterie-go/coterie/ddata/locks"
)

// A state file is the magic, the record's length and CRC-32C, little-endian, and the record.
const (
	stateMagic  = "coterie lease record 1\n"
	stateHeader = len(stateMagic) + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeState(record []byte) []byte {
	b := make([]byte, 0, stateHeader+len(record))
	b = append(b, stateMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(record)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(record, castagnoli))
	return append(b, record...)
}

// decodeState returns the record within b, which it goes on using.
func decodeState(b []byte) ([]byte, error) {
	if len(b) < stateHeader || string(b[:len(stateMagic)]) != stateMagic {
		return nil, errors.New("it does not begin like one of ours")
	}
	n, sum := binary.LittleEndian.Uint32(b[len(stateMagic):]), binary.LittleEndian.Uint32(b[len(stateMagic)+4:])
	record := b[stateHeader:]
	if uint64(n) != uint64(len(record)) || sum != crc32.Checksum(record, castagnoli) {
		return nil, fmt.Errorf("it should hold %d bytes and holds %d, or its checksum is wrong", n, len(record))
	}
	return record, nil
}

// Load implements locks.Lock.
func (d *door) Load(ctx context.Context) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.readyLocked(ctx, true); err != nil {
		return nil, err
	}
	f, err := os.Open(d.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unusable(d.state, "", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(stateHeader+locks.RecordMax+1)))
	if err != nil {
		return nil, unusable(d.state, "", err)
	}
	record, err := decodeState(b)
	if err != nil {
		return nil, &locks.Error{Kind: locks.ErrDamaged, Path: d.state, Cause: err,
			Remedy: "put the right file back; remove it only while no node of the cluster runs anywhere"}
	}
	return record, nil
}

// Save implements locks.Lock: the new file is whole and synced before it takes the name, and the
// name is synced before Save returns.
func (d *door) Save(ctx context.Context, record []byte) error {
	if err := locks.CheckRecord(record); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.readyLocked(ctx, true); err != nil {
		return err
	}
	fresh := d.state + ".new"
	if err := writeSynced(fresh, encodeState(record)); err != nil {
		return unusable(fresh, "", err)
	}
	if err := os.Rename(fresh, d.state); err != nil {
		return unusable(d.state, "", err)
	}
	if err := syncDir(d.dir); err != nil {
		return unusable(d.dir, "", err)
	}
	return nil
}
