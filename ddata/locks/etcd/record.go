package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
)

// The value of a record's key is the magic, the CRC-32C of the record, little-endian, and the record.
const (
	recordMagic  = "coterie record 1\n"
	recordHeader = len(recordMagic) + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRecord(record []byte) []byte {
	b := make([]byte, 0, recordHeader+len(record))
	b = append(b, recordMagic...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(record, castagnoli))
	return append(b, record...)
}

// decodeRecord returns the record within b, which it goes on using.
func decodeRecord(b []byte) ([]byte, error) {
	if len(b) < recordHeader || string(b[:len(recordMagic)]) != recordMagic {
		return nil, errors.New("it does not begin like one of ours")
	}
	record := b[recordHeader:]
	if sum := binary.LittleEndian.Uint32(b[len(recordMagic):]); sum != crc32.Checksum(record, castagnoli) {
		return nil, fmt.Errorf("the checksum of its %d bytes is wrong", len(record))
	}
	return record, nil
}

// Load implements locks.Lock. One transaction checks the holder and reads the record.
func (l *lease) Load(ctx context.Context) ([]byte, error) {
	answer, err := l.asHolder(ctx, clientv3.OpGet(l.record))
	if _, held := l.Held(); err == nil && !held {
		err = l.Refer(locks.ErrNotHeld)
	}
	if err != nil {
		return nil, err
	}
	got := answer.Responses[0].GetResponseRange()
	if len(got.Kvs) == 0 {
		return nil, nil
	}
	record, err := decodeRecord(got.Kvs[0].Value)
	if err != nil {
		return nil, &locks.Error{Kind: locks.ErrDamaged, Path: l.record, Cause: err,
			Remedy: "put the right value back; remove the key only while no node of the cluster runs anywhere"}
	}
	return record, nil
}

// Save implements locks.Lock.
func (l *lease) Save(ctx context.Context, record []byte) error {
	if err := locks.CheckRecord(record); err != nil {
		return err
	}
	_, err := l.asHolder(ctx, clientv3.OpPut(l.record, string(encodeRecord(record))))
	return err
}

// asHolder does something to the record if the key is still the one that the holder has made. The end
// of the hold ends the call; a save may have taken effect by then.
func (l *lease) asHolder(ctx context.Context, op clientv3.Op) (answer *clientv3.TxnResponse, err error) {
	err = l.AsHolder(ctx, func(ctx context.Context, h *hold) error {
		answer, err = l.s.client.Txn(ctx).If(l.holds(rest{h.lease, h.fence})...).Then(op).Commit()
		if err != nil {
			return l.s.explain(ctx, l.record, err)
		}
		if !answer.Succeeded {
			err := replaced(l.key)
			l.Lose(h, err)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}
