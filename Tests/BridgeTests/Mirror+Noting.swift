import PlugboardClient

@testable import BridgePlugin

extension Mirror {
    /// Takes a write on the bus, or a delete.
    mutating func note(
        _ key: String,
        _ value: JSON?,
        revision: Int,
        by: String?,
        origin: String? = nil,
        isBound: Bool = false
    ) {
        guard let value else { return noteDelete(of: key, at: revision, by: by) }
        let written = BusValue(
            key: key, revision: revision, value: value, by: by, origin: origin, isBound: isBound
        )
        note(written)
    }
}
