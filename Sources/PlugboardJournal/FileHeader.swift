// The first line of a segment or a snapshot. It says which file this is and which record comes before it.
// So recovery detects a file that is missing or in the wrong place.

enum FileHeader {
    /// The line without its time and checksum. `previous` is the checksum of the record before this file.
    static func text(
        _ kind: RecordKind,
        _ segment: UInt64,
        epoch: String,
        boot: String,
        mark: String? = nil,
        revision: UInt64,
        previous: UInt32,
        keys: Int? = nil
    ) -> String {
        let name = kind == .snapshot ? "snapshot" : "segment"
        let count = keys.map { #","keys":\#($0)"# } ?? ""
        return
            #"{"event":"\#(name)","version":\#(JournalVersion.number),"segment":\#(segment),"epoch":"\#(epoch)""#
            + #","revision":\#(revision)\#(count),"previous":"\#(String(previous, radix: 16))","boot":"\#(boot)""#
            + (mark.map { #","mark":"\#($0)""# } ?? "")
    }
}
