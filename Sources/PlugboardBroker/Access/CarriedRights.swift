// The rights that a broker hands to its successor in the same process: since when the policy has been in
// force, and what each plugin may do. Without them, every plugin could do everything until its supervisor has
// connected again. A value, used before and after the loops of the two brokers. To another program it goes as
// lines of JSON: first the policy and the supervisor, then a line for each plugin.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Rights on their way from a broker to its successor.
struct CarriedRights: Sendable {
    /// The text of the last policy.
    private var policy: [UInt8]?
    /// The revision at which that policy came into force; nil if the successor has another policy.
    private(set) var policyRevision: UInt64?
    /// The supervisor's name.
    let supervisorName: String?
    /// What the supervisor published about each plugin: the members that a broker applies.
    let plugins: [[UInt8]]

    init(policy: [UInt8]?, since revision: UInt64, supervisorName: String?, plugins: [[UInt8]]) {
        self.policy = policy
        policyRevision = policy.map { _ in revision }
        self.supervisorName = supervisorName
        self.plugins = plugins
    }

    /// The same rights for a successor with this policy.
    func going(on next: Policy?) -> CarriedRights {
        var carried = self
        if next?.text != policy { carried.policyRevision = nil }
        return carried
    }

    /// The rights as lines of JSON.
    var text: [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(#"{"since":"#)
        buffer.append(string: policyRevision.map { "\($0)" } ?? "null")
        if let supervisorName {
            buffer.append(#","name":"#)
            JSONText.append(supervisorName, to: &buffer)
        }
        buffer.append("}\n")
        for plugin in plugins {
            buffer.append(plugin.span)
            buffer.append("\n")
        }
        return Array(buffer.bytes)
    }

    /// The rights that an earlier program in this process left as lines, together with this policy; nil if
    /// they can't be read.
    init?(_ file: DataFile?, _ policy: Policy?) {
        guard let text = try? file?.contents() else { return nil }
        var lines = text.split(separator: 0x0A).map { Array($0) }
        guard let first = lines.first, let head = Head(first) else { return nil }
        lines.removeFirst()
        self.policy = policy?.text
        (policyRevision, supervisorName, plugins) = (head.since, head.name, lines)
    }

    /// The content of the first line.
    private struct Head {
        var since: UInt64?
        var name: String?

        init?(_ line: [UInt8]) {
            let line = line.span
            guard let json = try? JSONOutline(line, at: 0), json.kind(0, of: line) == .object else {
                return nil
            }
            var member = 1
            for _ in 0..<json.childCount(0) {
                let content = json.bytes(member + 1, of: line)
                switch String(json.characters(member, of: line)) {
                case "since": since = UInt64(String(content))
                case "name" where json.kind(member + 1, of: line) == .string:
                    name = String(
                        decoding: JSONText.characters(json.characters(member + 1, of: line)),
                        as: UTF8.self
                    )
                default: break
                }
                member = json.next(member + 1)
            }
        }
    }
}

extension CarriedRights {
    /// The rights that a broker hands to its successor.
    init(_ access: borrowing Access, _ supervision: borrowing Supervision) {
        self.init(
            policy: access.policyText,
            since: access.policyRevision,
            supervisorName: supervision.supervisorName,
            plugins: supervision.reports
        )
    }

    /// Gives them to the successor. Call it when its policy and its supervisor are set, and before the
    /// first client connects.
    func give(to access: inout Access, _ supervision: inout Supervision) {
        if let policyRevision { access.note(policySince: policyRevision) }
        guard supervision.supervisor != nil else { return }
        supervision.supervisorName = supervisorName
        for text in plugins {
            if let report = try? PluginReport(text.span, at: 0) { _ = supervision.take(report) }
        }
    }
}
