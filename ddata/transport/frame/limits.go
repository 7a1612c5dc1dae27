package frame

// The bounds of the memory that frames take.
const (
	// MaxLimit is the highest limit that a payload may have.
	MaxLimit = 64 << 20

	bufferMin   = 4 << 10   // first size of a Buffer
	bufferMax   = 256 << 10 // it grows by itself to this, beyond only for a large frame
	shrinkAfter = 256       // small reads after which a Buffer is halved

	sparesMax = 16       // buffers that Spares keep
	spareMax  = 4 << 20  // a buffer above this is not kept at all
	idleMax   = 64 << 10 // a writer that is idle keeps no buffer above this
)
