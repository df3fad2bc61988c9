import type { LetterWords } from './letter-words.ts';

/** The sentences of a letter in German. */
export const german: LetterWords = {
  sender: { controller: '[Name des Verantwortlichen]', contact: '[Anschrift]' },
  subject: (law, reference) => `Ihr Antrag auf Löschung (${law}), Zeichen ${reference}`,
  laws: { gdpr: 'Art. 17 DSGVO', ccpa: 'California Consumer Privacy Act' },
  greeting: 'Guten Tag [Name],',
  asked: (day) =>
    `am ${day} haben wir Ihren Antrag erhalten, Ihre personenbezogenen Daten zu löschen. Das haben wir getan:`,
  done: 'Was getan wurde',
  here: {
    verified: (day) =>
      `In unserer eigenen Kopie der Analysedaten wurden Ihre Daten bis zum ${day} gelöscht. Eine Suche in allem, was dort gespeichert ist, hatte Sie zuvor gefunden; danach fand sie nichts mehr.`,
    observed: (day) =>
      `In unserer eigenen Kopie der Analysedaten ist seit dem ${day} nichts über Sie gespeichert: Eine Suche in allem, was dort liegt, fand nichts.`,
  },
  person: {
    deleted:
      'Bei unserem Analysedienst wurde Ihr Profil gelöscht. Wir haben seither danach gefragt; es ist nicht mehr vorhanden.',
    already_absent: 'Unser Analysedienst hatte kein Profil von Ihnen mehr.',
    still_present: 'Unser Analysedienst hatte Ihr Profil noch, als wir zuletzt danach fragten. [Was weiter geschieht]',
    not_verifiable: 'Ob unser Analysedienst Ihr Profil gelöscht hat, können wir nicht prüfen. [Was weiter geschieht]',
  },
  events: {
    confirmed: 'Unser Analysedienst gibt an, die über Sie erfassten Ereignisse gelöscht zu haben.',
    not_verifiable: 'Ob unser Analysedienst die über Sie erfassten Ereignisse gelöscht hat, können wir nicht prüfen.',
    unconfirmed:
      'Wir haben unseren Analysedienst aufgefordert, die über Sie erfassten Ereignisse zu löschen. Er hat das nicht bestätigt.',
    partly_deleted:
      'Unser Analysedienst gibt an, einen Teil der über Sie erfassten Ereignisse gelöscht zu haben. [Was mit den übrigen geschieht]',
    not_queued:
      'Unser Analysedienst hat keine Löschung der über Sie erfassten Ereignisse angezeigt. [Was weiter geschieht]',
    kept: 'Die über Sie erfassten Ereignisse bleiben bei unserem Analysedienst gespeichert. [Die Ausnahme, die das erlaubt]',
  },
  recordings: {
    deleted: 'Die Aufzeichnungen Ihrer Sitzungen wurden bei unserem Analysedienst gelöscht.',
    absent: 'Unser Analysedienst zeigt keine Aufzeichnung Ihrer Sitzungen mehr.',
    not_deletable_via_api:
      'Die Aufzeichnungen Ihrer Sitzungen bleiben bei unserem Analysedienst bis zum Ende der Aufbewahrung: [Zeitraum].',
    not_deletable_by_key:
      'Die Aufzeichnungen Ihrer Sitzungen bleiben bei unserem Analysedienst bis zum Ende der Aufbewahrung: [Zeitraum].',
    still_present:
      'Die Aufzeichnungen Ihrer Sitzungen waren noch bei unserem Analysedienst, als wir zuletzt danach fragten. [Was weiter geschieht]',
    deletion_requested:
      'Wir haben unseren Analysedienst aufgefordert, die Aufzeichnungen Ihrer Sitzungen zu löschen. Dass es geschehen ist, haben wir nicht gesehen.',
    not_verifiable: 'Ob unser Analysedienst die Aufzeichnungen Ihrer Sitzungen gelöscht hat, können wir nicht prüfen.',
  },
  bucket: {
    locked:
      'Eine Sperre unseres Speichers hält ältere Fassungen der Daten bis zum [Datum]. Danach werden sie gelöscht.',
  },
  copies:
    'Eine Kopie auf dem Datenträger einer ausgefallenen Maschine kann nicht geprüft werden. [Was mit dem Datenträger geschehen ist]',
  late: (due) =>
    `Das hat länger gedauert als bis zu dem Tag, den wir uns gesetzt hatten (${due}). [Grund der Verzögerung]`,
  remains: 'Was bleibt',
  shared:
    'Ein Teil der Daten gehört auch zu einer anderen Person, oder kann zu ihr gehören. Er wurde dieser Person gelassen. [Was das ist]',
  hashes:
    'Wir bewahren verschlüsselte Prüfwerte Ihrer Kennungen auf. Sie nennen niemanden. An ihnen erkennen wir Daten von Ihnen, die erneut eintreffen, und lassen sie nicht herein.',
  notHere:
    'Die Sicherungen und den internen Speicher unseres Analysedienstes können wir nicht prüfen. Unsere eigenen Sicherungen werden innerhalb von [Zeitraum] überschrieben.',
  recipients: 'Diese Empfänger der Daten wurden aufgefordert, sie ebenfalls zu löschen:',
  noRecipients: 'Ein Empfänger der Daten ist nicht vermerkt. [Empfänger, die unterrichtet wurden]',
  acknowledged: (day) => `hat uns mitgeteilt, dass das geschehen ist (vermerkt am ${day})`,
  silent: 'hat uns das noch nicht mitgeteilt',
  rights:
    'Wenn Sie nicht einverstanden sind, können Sie sich bei einer Aufsichtsbehörde beschweren ([Name, Anschrift]) und einen gerichtlichen Rechtsbehelf einlegen.',
  proof: (sha256) =>
    `Unter dem obigen Zeichen liegt ein Zertifikat über diese Löschung. Es nennt keine Person (SHA-256 ${sha256}).`,
  closing: 'Mit freundlichen Grüßen',
};
