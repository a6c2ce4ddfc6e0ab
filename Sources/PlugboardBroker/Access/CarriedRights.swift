// What goes on to the broker that takes the place of this one of who may do what: since when
// the policy has been in force, and whose plugins are whose. Without it every plugin could do
// everything until its supervisor has connected again. Beside the loops of both; in the
// next program it comes as lines of JSON: first what concerns all, then a line for each plugin.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

/// Rights between two brokers in one process.
struct CarriedRights: Sendable {
    /// The text of the policy that was followed last.
    private var policy: [UInt8]?
    /// The revision at which that came into force; nil where another one takes its place.
    private(set) var policyRevision: UInt64?
    /// What the supervisor calls itself.
    let supervisorName: String?
    /// What the supervisor said of each plugin, as far as brokers go by it.
    let plugins: [[UInt8]]

    init(policy: [UInt8]?, since revision: UInt64, supervisorName: String?, plugins: [[UInt8]]) {
        self.policy = policy
        policyRevision = policy.map { _ in revision }
        self.supervisorName = supervisorName
        self.plugins = plugins
    }

    /// The same for a broker that will follow this policy.
    func going(on next: Policy?) -> CarriedRights {
        var carried = self
        if next?.text != policy { carried.policyRevision = nil }
        return carried
    }

    /// As lines.
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

    /// What was left in this process, as lines, for a broker that was left this policy; nil where it
    /// can't be read.
    init?(_ file: DataFile?, _ policy: Policy?) {
        guard let text = try? file?.contents() else { return nil }
        var lines = text.split(separator: 0x0A).map { Array($0) }
        guard let first = lines.first, let head = Head(first) else { return nil }
        lines.removeFirst()
        self.policy = policy?.text
        (policyRevision, supervisorName, plugins) = (head.since, head.name, lines)
    }

    /// The first line.
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

extension Hub {
    /// What of this hub's rights goes on.
    var carriedRights: CarriedRights {
        CarriedRights(
            policy: access.policyText,
            since: access.policyRevision,
            supervisorName: supervision.supervisorName,
            plugins: supervision.reports
        )
    }

    /// Goes on with the rights of the broker before. Behind the policy and the supervisor, before
    /// the first client.
    mutating func goOn(with rights: CarriedRights) {
        if let revision = rights.policyRevision { access.note(policySince: revision) }
        guard supervision.supervisor != nil else { return }
        supervision.supervisorName = rights.supervisorName
        for text in rights.plugins {
            if let report = try? PluginReport(text.span, at: 0) { _ = supervision.take(report) }
        }
    }
}
