package fragment

import (
	"fmt"
	"math/big"
	"strings"
)

// maxDigits bounds the digits a written time keeps on either side of its
// point, so that reading takes bounded time whatever stands in a URI. A time of
// 10^maxDigits seconds or more becomes 10^maxDigits: beyond any medium, as it
// was. Digits further behind the point are dropped: finer than any clock.
const maxDigits = 1000

// ParseTime reads one npttime of section 4.2.1, exactly: seconds ("61.029"),
// minutes and seconds ("01:01.029") or hours, minutes and seconds
// ("0:01:01.029"). Any number of digits may stand for hours, for seconds that
// stand alone and behind the point; 1,000 of them count on either side. The
// result is never negative.
func ParseTime(s string) (Time, error) {
	d, err := parseDecimal(s)
	if err != nil {
		return Time{}, fmt.Errorf("fragment: %w", err)
	}
	return d.time(), nil
}

// parseNPT reads the value of a temporal dimension in normal play time, without
// its "npt:": npttime [ "," npttime ] / "," npttime.
func parseNPT(text string) (*TimeRange, error) {
	first, second, comma := strings.Cut(text, ",")
	switch {
	case text == "":
		return nil, fmt.Errorf("no time is given; write t=10,20, t=10 or t=,20")
	case comma && first == "" && second == "":
		return nil, fmt.Errorf("neither a start nor an end is given; write t=10,20, t=10 or t=,20")
	case comma && second == "":
		return nil, fmt.Errorf("nothing follows the comma; without it the interval has no end, as in t=10")
	case strings.Contains(second, ","):
		return nil, fmt.Errorf("more than two times; write t=10,20")
	}

	r := &TimeRange{Unit: NPT, Interval: Interval{Open: !comma}, StartOmitted: first == ""}
	var start, end decimal // the zero value is 0 s, the default of section 4.2.1
	var err error
	if !r.StartOmitted {
		if start, err = parseDecimal(first); err != nil {
			return nil, err
		}
	}
	r.Start = start.time()
	if r.Open {
		return r, nil
	}
	if end, err = parseDecimal(second); err != nil {
		return nil, err
	}
	switch c := start.cmp(end); { // section 6.2.2
	case c == 0:
		return nil, fmt.Errorf("the interval is empty: its end must come after its start")
	case c > 0:
		return nil, fmt.Errorf("the end comes before the start")
	}
	r.End = end.time()
	if !r.Start.Less(r.End) {
		// They differ only in digits that are not kept. The interval is not
		// empty all the same, so the bounds stay one last digit apart.
		r.End = r.Start.Add(Time{new(big.Rat).SetFrac(big.NewInt(1), tenTo(maxDigits))})
	}
	return r, nil
}

// decimal is a number of seconds as its digits, with no zeros around them: whole
// without leading, frac without trailing ones. It is compared and computed in
// time linear in its length, which a big.Int of it is not.
type decimal struct{ whole, frac string }

func newDecimal(whole, frac string) decimal {
	return decimal{strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")}
}

func (d decimal) cmp(e decimal) int {
	switch {
	case len(d.whole) != len(e.whole):
		return len(d.whole) - len(e.whole)
	case d.whole != e.whole:
		return strings.Compare(d.whole, e.whole)
	default:
		return strings.Compare(d.frac, e.frac)
	}
}

func (d decimal) time() Time {
	if len(d.whole) > maxDigits {
		return Time{new(big.Rat).SetInt(tenTo(maxDigits))}
	}
	frac := d.frac[:min(len(d.frac), maxDigits)]
	num, _ := new(big.Int).SetString("0"+d.whole+frac, 10)
	return Time{new(big.Rat).SetFrac(num, tenTo(len(frac)))}
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// parseDecimal reads one npttime. Its error says what is wrong with s, and what
// would be right.
func parseDecimal(s string) (decimal, error) {
	if s == "" {
		return decimal{}, fmt.Errorf("a time is missing")
	}
	wrong := func(format string, a ...any) (decimal, error) {
		return decimal{}, fmt.Errorf("%q is not a time: %s", shorten(s), fmt.Sprintf(format, a...))
	}
	if i := strings.IndexFunc(s, notInTime); i >= 0 {
		return wrong("%s", strangeCharacter(s, i))
	}

	clock, frac, _ := strings.Cut(s, ".")
	if strings.ContainsAny(frac, ".:") {
		return wrong("only the seconds, at its end, have a fraction")
	}
	fields := strings.SplitN(clock, ":", 4)
	switch {
	case len(fields) > 3:
		return wrong("it has at most hours, minutes and seconds, as in 1:02:03")
	case fields[0] == "":
		return wrong("a digit must stand at its start, as in 0.5 or 00:30")
	case len(fields) == 1:
		return newDecimal(clock, frac), nil
	case len(fields) == 2:
		fields = []string{"0", fields[0], fields[1]}
	}
	minutes, seconds := fields[1], fields[2]
	switch {
	case len(minutes) != 2 || len(seconds) != 2:
		return wrong("minutes and seconds have two digits each, as in 03:07")
	case minutes[0] > '5':
		return wrong("minutes go from 00 to 59; hours stand before them, as in 1:02:03")
	case seconds[0] > '5':
		return wrong("seconds beside minutes go from 00 to 59")
	}
	return newDecimal(hoursToSeconds(fields[0], twoDigits(minutes)*60+twoDigits(seconds)), frac), nil
}

func twoDigits(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

// hoursToSeconds returns the digits of hours*3600 + seconds, seconds being below
// 3600: multiplication as on paper, since hours may have any number of digits.
func hoursToSeconds(hours string, seconds int) string {
	out := make([]byte, len(hours)+4)
	carry := seconds // never above 3600
	for i := len(out) - 1; i >= 0; i-- {
		if i >= 4 {
			carry += int(hours[i-4]-'0') * 3600
		}
		out[i] = '0' + byte(carry%10)
		carry /= 10
	}
	return string(out)
}

// isDigit is '0' to '9' alone: unicode.IsDigit takes other scripts' digits,
// which the grammar does not.
func isDigit[C byte | rune](c C) bool { return '0' <= c && c <= '9' }

func notInTime(c rune) bool { return !isDigit(c) && c != ':' && c != '.' }

// strangeCharacter says what is wrong with s, where at i stands something that
// belongs in no time, by guessing what was meant.
func strangeCharacter(s string, i int) string {
	switch c := s[i]; {
	case i == 0 && (c == '-' || c == '+'):
		return "it has no sign"
	case c == '-':
		return "a comma stands between start and end, as in 3,7"
	case strings.HasPrefix(s, string(NPT)+":"):
		return "npt: stands once, before both times, as in npt:10,20"
	case i > 0 && (c == 'h' || c == 'm' || c == 's'):
		return "it has no unit; write 90 or 01:30"
	default:
		return "only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5"
	}
}

// shorten cuts s to what a message can bear.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
