package crdt

func AppendGroup(dst []byte, g Group) []byte                   { return dst }
func DecodeGroup(b []byte) (Group, error)                      { return nil, nil }
func CutGroup(b []byte) (g Group, rest []byte, err error)      { return nil, nil, nil } // decodes one from the front
func AppendClock(dst []byte, c *Clock) []byte                  { return dst }
func DecodeClock(b []byte) (*Clock, error)                     { return nil, nil }
func CutClock(b []byte) (c *Clock, rest []byte, err error)     { return nil, nil, nil }
func AppendItem(dst []byte, it *Item) []byte                   { return dst }
func DecodeItem(b []byte) (Item, error)                        { return Item{}, nil }
func AppendItems(dst []byte, items []*Item) []byte             { return dst } // one batch, with a table of origins
func DecodeItems(b []byte) ([]Item, error)                     { return nil, nil }
func CutItems(b []byte) (items []Item, rest []byte, err error) { return nil, nil, nil }
