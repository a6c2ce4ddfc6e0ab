// The form of a row in the table of operations. Rows are made of constants. Code that reads one member of
// a row is compiled to a look-up of that member alone, so a row costs nothing on the way of a message.

/// What the table says about one operation.
struct OperationRow {
    let name: StaticString
    /// How a person types it.
    let shorthand: StaticString
    /// A few words for the list of all operations.
    let says: StaticString
    /// How it stands in that list, if its shorthand is too long there; otherwise empty.
    let listed: StaticString
    /// The word of the greeting's `features` that says that a broker has it; empty if every broker has.
    let feature: StaticString
    /// One clause without a subject, such as "ends a subscription".
    let summary: StaticString
    /// A line that can be sent as it is.
    let example: StaticString
    /// What shells or other servers call it, with spaces between.
    let synonyms: StaticString
    /// The fields that a request must have besides `op`.
    let needs: FieldSet
    /// The fields that it may have besides those and `id`.
    let takes: FieldSet
    /// Whether `EnvelopeCheck.details` has rules about several fields, or about the content of one.
    let hasRules: Bool
    /// The help of fields that mean something particular here.
    let fields: () -> [Field: String]

    @inline(__always)
    init(
        _ name: StaticString = "",
        _ shorthand: StaticString = "",
        _ says: StaticString = "",
        listed: StaticString = "",
        feature: StaticString = "",
        summary: StaticString = "",
        example: StaticString = "",
        synonyms: StaticString = "",
        needs: FieldSet = FieldSet(),
        takes: FieldSet = FieldSet(),
        hasRules: Bool = false,
        fields: @escaping @autoclosure () -> [Field: String] = [:]
    ) {
        self.name = name
        self.shorthand = shorthand
        self.says = says
        self.listed = listed
        self.feature = feature
        self.summary = summary
        self.example = example
        self.synonyms = synonyms
        self.needs = needs
        self.takes = takes
        self.hasRules = hasRules
        self.fields = fields
    }
}

/// What an operation does to values, and whether it is answered.
@usableFromInline
enum OperationKind {
    /// Success always gets a reply.
    case answered
    /// Success gets a reply only if the request has an `id`.
    case silent
    /// Silent, and a write of one key.
    case write
    /// A write that makes the new value from the present one.
    case combining
}

extension FieldSet {
    @inline(__always)
    static var key: FieldSet { FieldSet().with(.key) }

    @inline(__always)
    static var keyAndValue: FieldSet { key.with(.value) }

    @inline(__always)
    static var sub: FieldSet { FieldSet().with(.sub) }

    /// The fields that any write may have besides its key and value.
    @inline(__always)
    static var ofWrite: FieldSet { FieldSet().with(.cause).with(.origin) }

    /// The fields that any write may have that keeps something.
    @inline(__always)
    static var ofKeptWrite: FieldSet { ofWrite.with(.ifRevision).with(.durable) }
}
