package kubernetes

import (
	"context"
	"fmt"
	"hash/crc32"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// recordKey is the key of a record in its ConfigMap. No value may have more than a record.
const recordKey = "record"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(bytes []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(bytes, castagnoli)) }

// record is the ConfigMap of a lease. Its methods are called by the call with the turn.
type record struct{ l *lease }

func recordOf(l *lease) record { return record{l} }

// Load implements locks.Lock.
func (l *lease) Load(ctx context.Context) ([]byte, error) {
	var saved []byte
	err := l.asHolder(ctx, func(ctx context.Context, h *hold) error {
		m, err := recordOf(l).claim(ctx, h)
		if err != nil {
			return err
		}
		var is bool
		if saved, is = m.BinaryData[recordKey]; is && m.Annotations[sumAnnotation] != sumOf(saved) {
			return recordOf(l).damaged("the checksum of its %d bytes is wrong", len(saved))
		}
		return nil
	})
	if _, held := l.Held(); err == nil && !held {
		err = l.Refer(locks.ErrNotHeld)
	}
	if err != nil {
		return nil, err
	}
	return saved, nil
}

// Save implements locks.Lock.
func (l *lease) Save(ctx context.Context, bytes []byte) error {
	if err := locks.CheckRecord(bytes); err != nil {
		return err
	}
	return l.asHolder(ctx, func(ctx context.Context, h *hold) (err error) {
		m := h.record
		if m == nil {
			if m, err = recordOf(l).claim(ctx, h); err != nil {
				return err
			}
		}
		m = m.DeepCopy()
		m.BinaryData = map[string][]byte{recordKey: bytes}
		m.Annotations[sumAnnotation] = sumOf(bytes)
		h.record = nil // unless it succeeds
		l.setSaving(h, true)
		m, err = l.s.maps.Update(ctx, l.object, m)
		if apiclient.Refused(err) {
			l.setSaving(h, false)
		}
		if apiclient.Conflict(err) || apiclient.NotFound(err) {
			_, claimed := recordOf(l).claim(ctx, h)
			if claimed != nil {
				return claimed
			}
			return fmt.Errorf("something else has written or removed the record: %w", err)
		}
		if err != nil {
			return err
		}
		l.setSaving(h, false)
		h.keepRecord(m)
		return nil
	})
}

func (l *lease) setSaving(h *hold, may bool) {
	l.Locked(func() { h.saving = may })
}

// keepRecord notes how the server has the ConfigMap.
func (h *hold) keepRecord(m *corev1.ConfigMap) {
	h.record = &corev1.ConfigMap{ObjectMeta: *m.ObjectMeta.DeepCopy()}
}

// asHolder does something to the record as the holder. The end of the hold ends the call; a save may have
// taken effect by then.
func (l *lease) asHolder(ctx context.Context, do func(context.Context, *hold) error) error {
	return l.AsHolder(ctx, func(ctx context.Context, h *hold) error { return l.s.explain(l.object, do(ctx, h)) })
}

// claim writes the fence of a hold into the ConfigMap, and returns that with its data. What an earlier hold, or
// an earlier call, has sent has no effect after that. It writes nothing if the ConfigMap is as the hold has
// written it, and no save is under way.
func (r record) claim(ctx context.Context, h *hold) (*corev1.ConfigMap, error) {
	l := r.l
	known := h.record
	h.record = nil
	for {
		m, err := r.read(ctx)
		if err != nil {
			return nil, err
		}
		fence, err := r.fence(m)
		switch {
		case err != nil:
			return nil, err
		case fence > h.fence:
			err := l.replaced(fmt.Sprintf("another hold has used the record: its fence is %d, and that of this hold %d",
				fence, h.fence))
			l.Lose(h, err)
			return nil, err
		case known != nil && m.ResourceVersion == known.ResourceVersion && m.UID == known.UID:
			h.record = known
			return m, nil
		}
		m.Annotations[fenceAnnotation] = strconv.Itoa(int(h.fence))
		m.Annotations[touchedAnnotation] = random()
		if m.ResourceVersion == "" {
			m, err = l.s.maps.Create(ctx, l.object, m)
		} else {
			m, err = l.s.maps.Update(ctx, l.object, m)
		}
		done, err := tried(err)
		if err != nil {
			return nil, err
		}
		if done {
			l.setSaving(h, false)
			h.keepRecord(m)
			return m, nil
		}
	}
}

// read returns the ConfigMap of the record: one without a resourceVersion if there is none.
func (r record) read(ctx context.Context) (*corev1.ConfigMap, error) {
	l := r.l
	m, err := l.s.maps.Get(ctx, l.object)
	switch {
	case apiclient.NotFound(err):
		return &corev1.ConfigMap{ObjectMeta: l.s.meta(l.object, l.name)}, nil
	case err != nil:
		return nil, err
	case m.Annotations[nameAnnotation] != l.name:
		return nil, r.damaged("it has no annotation %s with the name of the lease", nameAnnotation)
	}
	return m, nil
}

// fence returns the fence in a ConfigMap: 0 if the record was never used.
func (r record) fence(m *corev1.ConfigMap) (int32, error) {
	text := m.Annotations[fenceAnnotation]
	if m.ResourceVersion == "" {
		return 0, nil
	}
	fence, err := strconv.ParseInt(text, 10, 32)
	if err != nil || fence < 1 {
		return 0, r.damaged("its annotation %s is %q, and no fence", fenceAnnotation, text)
	}
	return int32(fence), nil
}

// touch sees to it that a save that is under way has no effect any more. It updates an object that
// is there, and makes none.
func (r record) touch(ctx context.Context) error {
	l := r.l
	for {
		m, err := r.read(ctx)
		if err != nil {
			return l.s.explain(l.object, err)
		}
		if m.ResourceVersion == "" {
			return nil
		}
		m.Annotations[touchedAnnotation] = random()
		_, err = l.s.maps.Update(ctx, l.object, m)
		if done, err := tried(err); done || err != nil && !apiclient.NotFound(err) {
			return l.s.explain(l.object, err)
		}
	}
}

func (r record) damaged(format string, args ...any) error {
	return &locks.Error{
		Kind: locks.ErrDamaged, Path: "ConfigMap " + r.l.s.path(r.l.object), Detail: fmt.Sprintf(format, args...),
		Remedy: "put the right value back; remove the ConfigMap only while no node of the cluster runs anywhere",
	}
}
