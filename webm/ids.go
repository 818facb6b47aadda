package webm

// Element IDs, with their length marker, as RFC 9559 section 5.1 and RFC 8794
// section 11.2 number them.
const (
	idVoid  = 0xEC
	idCRC32 = 0xBF

	idEBML               = 0x1A45DFA3
	idEBMLMaxIDLength    = 0x42F2
	idEBMLMaxSizeLength  = 0x42F3
	idDocType            = 0x4282
	idDocTypeVersion     = 0x4287
	idDocTypeReadVersion = 0x4285

	idSegment     = 0x18538067
	idSeekHead    = 0x114D9B74
	idInfo        = 0x1549A966
	idTracks      = 0x1654AE6B
	idCues        = 0x1C53BB6B
	idChapters    = 0x1043A770
	idTags        = 0x1254C367
	idAttachments = 0x1941A469
	idCluster     = 0x1F43B675

	idSeek         = 0x4DBB
	idSeekID       = 0x53AB
	idSeekPosition = 0x53AC

	idTimestampScale = 0x2AD7B1
	idDuration       = 0x4489
	idDateUTC        = 0x4461
	idTitle          = 0x7BA9
	idMuxingApp      = 0x4D80
	idWritingApp     = 0x5741

	idTrackEntry         = 0xAE
	idTrackNumber        = 0xD7
	idTrackUID           = 0x73C5
	idTrackType          = 0x83
	idFlagEnabled        = 0xB9
	idFlagDefault        = 0x88
	idDefaultDuration    = 0x23E383
	idName               = 0x536E
	idLanguage           = 0x22B59C
	idLanguageBCP47      = 0x22B59D
	idCodecID            = 0x86
	idCodecPrivate       = 0x63A2
	idCodecDelay         = 0x56AA
	idSeekPreRoll        = 0x56BB
	idContentEncodings   = 0x6D80
	idContentEncoding    = 0x6240
	idContentScope       = 0x5032
	idContentCompression = 0x5034
	idContentCompAlgo    = 0x4254
	idContentCompSetting = 0x4255
	idContentEncryption  = 0x5035

	idVideo                = 0xE0
	idStereoMode           = 0x53B8
	idPixelWidth           = 0xB0
	idPixelHeight          = 0xBA
	idPixelCropBottom      = 0x54AA
	idPixelCropTop         = 0x54BB
	idPixelCropLeft        = 0x54CC
	idPixelCropRight       = 0x54DD
	idDisplayWidth         = 0x54B0
	idDisplayHeight        = 0x54BA
	idDisplayUnit          = 0x54B2
	idProjection           = 0x7670
	idProjectionPoseRoll   = 0x7675
	idColour               = 0x55B0
	idMatrixCoefficients   = 0x55B1
	idBitsPerChannel       = 0x55B2
	idChromaSubsampHorz    = 0x55B3
	idChromaSubsampVert    = 0x55B4
	idRange                = 0x55B9
	idTransferCharacterist = 0x55BA
	idPrimaries            = 0x55BB

	idAudio                   = 0xE1
	idSamplingFrequency       = 0xB5
	idOutputSamplingFrequency = 0x78B5
	idChannels                = 0x9F
	idBitDepth                = 0x6264

	idCuePoint            = 0xBB
	idCueTime             = 0xB3
	idCueTrackPositions   = 0xB7
	idCueTrack            = 0xF7
	idCueClusterPosition  = 0xF1
	idCueRelativePosition = 0xF0
	idCueDuration         = 0xB2

	idTimestamp      = 0xE7
	idPosition       = 0xA7
	idPrevSize       = 0xAB
	idSilentTracks   = 0x5854
	idSimpleBlock    = 0xA3
	idBlockGroup     = 0xA0
	idBlock          = 0xA1
	idBlockDuration  = 0x9B
	idReferenceBlock = 0xFB
	idDiscardPadding = 0x75A2
	idEncryptedBlock = 0xAF
	idBlockAdditions = 0x75A1
	idReferencePrio  = 0xFA
	idCodecState     = 0xA4
	idSlices         = 0x8E
	idBlockVirtual   = 0xA2
	idReferenceVirt  = 0xFD
	idReferenceFrame = 0xC8

	idEditionEntry       = 0x45B9
	idEditionUID         = 0x45BC
	idEditionFlagHidden  = 0x45BD
	idEditionFlagDefault = 0x45DB
	idEditionFlagOrdered = 0x45DD
	idChapterAtom        = 0xB6
	idChapterUID         = 0x73C4
	idChapterStringUID   = 0x5654
	idChapterTimeStart   = 0x91
	idChapterTimeEnd     = 0x92
	idChapterFlagHidden  = 0x98
	idChapterFlagEnabled = 0x4598
	idChapterDisplay     = 0x80
	idChapString         = 0x85
	idChapLanguage       = 0x437C
	idChapLanguageBCP47  = 0x437D

	idTag           = 0x7373
	idTargets       = 0x63C0
	idTagTrackUID   = 0x63C5
	idTagChapterUID = 0x63C4
	idSimpleTag     = 0x67C8
	idTagName       = 0x45A3
	idTagString     = 0x4487
	idTagLanguage   = 0x447A

	idTagLanguageBCP47 = 0x447B
	idTagEditionUID    = 0x63C9
	idTagAttachmentUID = 0x63C6

	idAttachedFile    = 0x61A7
	idFileDescription = 0x467E
	idFileName        = 0x466E
	idFileMediaType   = 0x4660
	idFileData        = 0x465C
)

// names of the elements that errors speak of.
var names = map[uint32]string{
	idEBML: "EBML", idSegment: "Segment", idSeekHead: "SeekHead", idInfo: "Info", idTracks: "Tracks",
	idCues: "Cues", idChapters: "Chapters", idTags: "Tags", idAttachments: "Attachments", idCluster: "Cluster",
	idTrackEntry: "TrackEntry", idCuePoint: "CuePoint", idSimpleBlock: "SimpleBlock", idBlockGroup: "BlockGroup",
	idBlock: "Block", idEncryptedBlock: "EncryptedBlock", idTimestamp: "Timestamp", idVoid: "Void",
}

// isLevel1 reports whether an element stands directly in the Segment.
func isLevel1(id uint32) bool {
	switch id {
	case idSeekHead, idInfo, idTracks, idCues, idChapters, idTags, idAttachments, idCluster:
		return true
	}
	return false
}

// inCluster reports whether an element may stand directly in a Cluster, also
// those of earlier editions of the format.
func inCluster(id uint32) bool {
	switch id {
	case idTimestamp, idPosition, idPrevSize, idSilentTracks, idSimpleBlock, idBlockGroup,
		idEncryptedBlock, idVoid, idCRC32:
		return true
	}
	return false
}
