// What the rest of the code asks of an operation. All of it follows from `OperationTable`.

import PlugboardMemory

extension Operation {
    /// Each operation has exactly one name. Each reply has it, so it isn't looked up in the rows.
    public var name: StaticString { Self.names[Int(rawValue)] }

    private static let names = allCases.map { $0.row.name }

    /// Whether success gets a reply only if the request has an `id`. Clients often send very many of
    /// these requests and don't want as many replies.
    @inlinable
    @inline(__always)
    public var isSilent: Bool { kind != .answered }

    /// Whether it makes the new value from the present one.
    @inlinable
    @inline(__always)
    public var combines: Bool { kind == .combining }

    /// Whether it is a write of one key. A batch and a will contain such writes.
    public var isWrite: Bool { kind == .write || kind == .combining }

    /// Whether it suffices to check which fields are there.
    @inline(__always)
    var isPlain: Bool { !row.hasRules }

    /// The fields that it must have besides `op`.
    @inline(__always)
    public var required: FieldSet { row.needs }

    /// The fields that it may have, with `op` and `id`.
    @inline(__always)
    public var allowed: FieldSet { row.needs.union(row.takes).with(.operation).with(.id) }

    /// The names of the writes: "publish, emit, patch, add or delete".
    public static func writes(_ conjunction: String) -> String {
        Suggestion.listed(allCases.filter(\.isWrite).map { $0.name.text }, conjunction)
    }

    /// The words of the greeting's `features` that name abilities of operations.
    static var features: [String] { allCases.map { $0.row.feature.text }.filter { !$0.isEmpty } }

    /// The operation with this name; nil if there is none.
    public init?(_ bytes: Span<UInt8>) {
        for operation in Self.allCases where bytes.isEqual(to: operation.name) {
            self = operation
            return
        }
        return nil
    }

    /// The operation with this name of up to eight bytes; nil if there is none.
    @inline(__always)
    init?(_ name: NameWord) {
        guard let place = Self.table.place(of: name) else { return nil }
        self.init(rawValue: place)
    }

    private static let table = NameTable(allCases.map(\.name))
}
