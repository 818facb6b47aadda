package audioframe

import "github.com/mediafrag/mediafrag/internal/bits"

// Object types of MPEG-4 audio (ISO/IEC 14496-3 table 1.17) that say that the
// coder has a companion: spectral band replication doubles its rate, parametric
// stereo its channels.
const (
	objectSBR    = 5
	objectPS     = 29
	objectEscape = 31
)

// Config is what an AudioSpecificConfig says (ISO/IEC 14496-3 section 1.6.2.1).
type Config struct {
	// Object is the audio object type: 2 is AAC-LC, 5 HE-AAC, 29 HE-AAC with
	// parametric stereo, 42 xHE-AAC. The last two are also told where they are
	// signalled in a way that older decoders overlook.
	Object int
	// Core is the object type of the core coder.
	Core int
	// Rate is that of the core coder, in Hz, and OutputRate what a decoder gives.
	Rate, OutputRate int
	Channels         int  // of the core coder; 0: not told here
	Short            bool // frames of 960 samples, not 1024
	SBR              bool // spectral band replication is signalled
	NoSBR            bool // it is signalled not to be there; where neither is, it may be
}

// ParseConfig reads an AudioSpecificConfig; ok is false where it is too short or
// names no sampling rate.
func ParseConfig(p []byte) (c Config, ok bool) {
	if len(p) < 2 {
		return c, false
	}
	r := bits.Reader{Data: p}
	c.Object = readObject(&r)
	c.Rate = readRate(&r)
	c.Core, c.OutputRate = c.Object, c.Rate
	switch n := int(r.Read(4)); {
	case n >= 1 && n <= 6:
		c.Channels = n
	case n == 7, n == 12, n == 14: // 7.1 in its three arrangements
		c.Channels = 8
	case n == 11:
		c.Channels = 7
	case n == 13:
		c.Channels = 24
	}
	if c.Object == objectSBR || c.Object == objectPS { // said explicitly
		c.SBR = true
		c.OutputRate = readRate(&r)
		c.Core = readObject(&r)
	}
	if c.Core >= 1 && c.Core <= 4 { // GASpecificConfig, section 4.4.1
		c.Short = r.Read(1) == 1
		if r.Read(1) == 1 {
			r.Read(14) // core coder delay
		}
		r.Read(1)
		if !c.SBR && c.Channels > 0 {
			c.readExtension(&r)
		}
	}
	return c, c.Rate > 0
}

// readExtension reads what is said behind the configuration, so that older
// decoders overlook it (section 1.6.6.1).
func (c *Config) readExtension(r *bits.Reader) {
	if r.Left() < 16 || r.Read(11) != 0x2b7 || readObject(r) != objectSBR {
		return
	}
	if c.NoSBR = r.Read(1) == 0; c.NoSBR {
		return
	}
	c.SBR, c.Object = true, objectSBR
	if rate := readRate(r); rate > 0 {
		c.OutputRate = rate
	}
	if r.Left() >= 12 && r.Read(11) == 0x548 && r.Read(1) == 1 {
		c.Object = objectPS
	}
}

func readObject(r *bits.Reader) int {
	if t := int(r.Read(5)); t != objectEscape {
		return t
	}
	return 32 + int(r.Read(6))
}

func readRate(r *bits.Reader) int {
	i := r.Read(4)
	if i == 15 {
		return int(r.Read(24))
	}
	return aacRates[i]
}
