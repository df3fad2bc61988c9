import type { TargetResult } from '../ledger/vocabulary.ts';

/** The languages of a letter. */
export const letterLanguages = ['en', 'de', 'fr', 'es'] as const;
export type LetterLanguage = (typeof letterLanguages)[number];

/** What became of a target, by result; no sentence where there was nothing to do, or nothing is left to say. */
type Results = Readonly<Partial<Record<TargetResult, string>>>;

/** The sentences of a letter in one language. What stands in [brackets] is for the sender to fill in. */
export type LetterWords = {
  sender: { controller: string; contact: string };
  subject: (law: string, reference: string) => string;
  laws: Readonly<Record<'gdpr' | 'ccpa', string>>;
  greeting: string;
  asked: (day: string) => string;
  done: string;
  here: Readonly<Record<'verified' | 'observed', (day: string) => string>>;
  person: Results;
  events: Results;
  recordings: Results;
  bucket: Results;
  /** Of a copy on another machine that nobody could look at. */
  copies: string;
  late: (due: string) => string;
  remains: string;
  hashes: string;
  notHere: string;
  recipients: string;
  noRecipients: string;
  acknowledged: (day: string) => string;
  silent: string;
  rights: string;
  proof: (sha256: string) => string;
  closing: string;
};

const english: LetterWords = {
  sender: { controller: '[name of the controller]', contact: '[address]' },
  subject: (law, reference) => `Your request for erasure (${law}), reference ${reference}`,
  laws: { gdpr: 'Art. 17 GDPR', ccpa: 'California Consumer Privacy Act' },
  greeting: 'Dear [name],',
  asked: (day) => `On ${day} we received your request to erase your personal data. This is what we have done:`,
  done: 'What was done',
  here: {
    verified: (day) =>
      `In our own copy of the analytics data, your data were erased by ${day}. A search of everything stored there had found you before, and found nothing afterwards.`,
    observed: (day) =>
      `In our own copy of the analytics data, nothing of you is stored as of ${day}: a search of everything there found nothing.`,
  },
  person: {
    deleted: 'At our analytics provider, your profile was deleted. We have asked for it since, and it is gone.',
    already_absent: 'Our analytics provider had no profile of you any more.',
    still_present: 'Our analytics provider still had your profile when we last asked. [What happens next]',
    not_verifiable: 'We asked our analytics provider to delete your profile. We cannot check that it has.',
  },
  events: {
    confirmed: 'Our analytics provider says that it has deleted the events recorded about you.',
    not_verifiable:
      'We asked our analytics provider to delete the events recorded about you. We cannot check that it has.',
    unconfirmed: 'We asked our analytics provider to delete the events recorded about you. It has not confirmed that.',
    partly_deleted:
      'Our analytics provider says that it has deleted a part of the events recorded about you. [What happens to the others]',
    not_queued: 'Our analytics provider has shown no deletion of the events recorded about you. [What happens next]',
    kept: 'The events recorded about you remain at our analytics provider. [The exception that allows it]',
  },
  recordings: {
    deleted: 'The recordings of your sessions were deleted at our analytics provider.',
    absent: 'Our analytics provider shows no recording of your sessions any more.',
    not_deletable_via_api:
      'The recordings of your sessions remain at our analytics provider until their retention ends: [period].',
    not_deletable_by_key:
      'The recordings of your sessions remain at our analytics provider until their retention ends: [period].',
    still_present:
      'The recordings of your sessions were still at our analytics provider when we last asked. [What happens next]',
    deletion_requested:
      'We asked our analytics provider to delete the recordings of your sessions. We have not seen that it has.',
    not_verifiable:
      'We asked our analytics provider to delete the recordings of your sessions. We cannot check that it has.',
  },
  bucket: { locked: 'A lock on our storage keeps older versions of the data until [date]. They are deleted then.' },
  copies: 'A copy on the disk of a machine that is gone cannot be checked. [What happened to the disk]',
  late: (due) => `This took longer than the law allows (until ${due}). [The reason for the delay]`,
  remains: 'What remains',
  hashes:
    'We keep coded values (keyed hashes) of your identifiers. They name nobody. By them we recognise data of yours that arrive again, and keep them out.',
  notHere:
    'We cannot check the backups and the internal storage of our analytics provider. Our own backups are overwritten within [period].',
  recipients: 'These recipients of the data were told to delete them too:',
  noRecipients: 'No recipient of the data is recorded. [Recipients that were told]',
  acknowledged: (day) => `has told us that it did (recorded on ${day})`,
  silent: 'has not told us yet that it did',
  rights:
    'If you do not agree, you may lodge a complaint with a supervisory authority ([name, address]) and seek a judicial remedy.',
  proof: (sha256) =>
    `A certificate of this erasure is filed under the reference above. It names no person (SHA-256 ${sha256}).`,
  closing: 'Yours sincerely,',
};

const german: LetterWords = {
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
    not_verifiable:
      'Wir haben unseren Analysedienst aufgefordert, Ihr Profil zu löschen. Nachprüfen können wir das nicht.',
  },
  events: {
    confirmed: 'Unser Analysedienst gibt an, die über Sie erfassten Ereignisse gelöscht zu haben.',
    not_verifiable:
      'Wir haben unseren Analysedienst aufgefordert, die über Sie erfassten Ereignisse zu löschen. Nachprüfen können wir das nicht.',
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
    not_verifiable:
      'Wir haben unseren Analysedienst aufgefordert, die Aufzeichnungen Ihrer Sitzungen zu löschen. Nachprüfen können wir das nicht.',
  },
  bucket: {
    locked:
      'Eine Sperre unseres Speichers hält ältere Fassungen der Daten bis zum [Datum]. Danach werden sie gelöscht.',
  },
  copies:
    'Eine Kopie auf dem Datenträger einer ausgefallenen Maschine kann nicht geprüft werden. [Was mit dem Datenträger geschehen ist]',
  late: (due) => `Das hat länger gedauert, als das Gesetz erlaubt (bis zum ${due}). [Grund der Verzögerung]`,
  remains: 'Was bleibt',
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

const french: LetterWords = {
  sender: { controller: '[nom du responsable du traitement]', contact: '[adresse]' },
  subject: (law, reference) => `Votre demande d’effacement (${law}), référence ${reference}`,
  laws: { gdpr: 'art. 17 du RGPD', ccpa: 'California Consumer Privacy Act' },
  greeting: 'Bonjour [nom],',
  asked: (day) =>
    `Le ${day}, nous avons reçu votre demande d’effacement de vos données à caractère personnel. Voici ce que nous avons fait :`,
  done: 'Ce qui a été fait',
  here: {
    verified: (day) =>
      `Dans notre propre copie des données d’analyse, vos données ont été effacées au plus tard le ${day}. Une recherche dans tout ce qui y est enregistré vous avait trouvé auparavant ; ensuite, elle n’a plus rien trouvé.`,
    observed: (day) =>
      `Dans notre propre copie des données d’analyse, rien n’est enregistré à votre sujet à la date du ${day} : une recherche dans tout ce qui s’y trouve n’a rien trouvé.`,
  },
  person: {
    deleted:
      'Chez notre prestataire d’analyse, votre profil a été supprimé. Nous l’avons vérifié depuis : il n’existe plus.',
    already_absent: 'Notre prestataire d’analyse n’avait plus de profil vous concernant.',
    still_present:
      'Notre prestataire d’analyse avait encore votre profil lors de notre dernière demande. [La suite donnée]',
    not_verifiable:
      'Nous avons demandé à notre prestataire d’analyse de supprimer votre profil. Nous ne pouvons pas le vérifier.',
  },
  events: {
    confirmed: 'Notre prestataire d’analyse déclare avoir supprimé les événements enregistrés à votre sujet.',
    not_verifiable:
      'Nous avons demandé à notre prestataire d’analyse de supprimer les événements enregistrés à votre sujet. Nous ne pouvons pas le vérifier.',
    unconfirmed:
      'Nous avons demandé à notre prestataire d’analyse de supprimer les événements enregistrés à votre sujet. Il ne l’a pas confirmé.',
    partly_deleted:
      'Notre prestataire d’analyse déclare avoir supprimé une partie des événements enregistrés à votre sujet. [Le sort des autres]',
    not_queued:
      'Notre prestataire d’analyse n’a montré aucune suppression des événements enregistrés à votre sujet. [La suite donnée]',
    kept: 'Les événements enregistrés à votre sujet restent chez notre prestataire d’analyse. [L’exception qui le permet]',
  },
  recordings: {
    deleted: 'Les enregistrements de vos sessions ont été supprimés chez notre prestataire d’analyse.',
    absent: 'Notre prestataire d’analyse ne montre plus aucun enregistrement de vos sessions.',
    not_deletable_via_api:
      'Les enregistrements de vos sessions restent chez notre prestataire d’analyse jusqu’à la fin de leur conservation : [durée].',
    not_deletable_by_key:
      'Les enregistrements de vos sessions restent chez notre prestataire d’analyse jusqu’à la fin de leur conservation : [durée].',
    still_present:
      'Les enregistrements de vos sessions étaient encore chez notre prestataire d’analyse lors de notre dernière demande. [La suite donnée]',
    deletion_requested:
      'Nous avons demandé à notre prestataire d’analyse de supprimer les enregistrements de vos sessions. Nous n’avons pas constaté qu’il l’a fait.',
    not_verifiable:
      'Nous avons demandé à notre prestataire d’analyse de supprimer les enregistrements de vos sessions. Nous ne pouvons pas le vérifier.',
  },
  bucket: {
    locked:
      'Un verrou de notre stockage conserve d’anciennes versions des données jusqu’au [date]. Elles seront alors supprimées.',
  },
  copies: 'Une copie sur le disque d’une machine disparue ne peut pas être vérifiée. [Le sort du disque]',
  late: (due) => `Cela a duré plus longtemps que la loi ne le permet (jusqu’au ${due}). [Le motif du retard]`,
  remains: 'Ce qui reste',
  hashes:
    'Nous conservons des valeurs codées (empreintes à clé) de vos identifiants. Elles ne nomment personne. Elles nous servent à reconnaître des données vous concernant qui arriveraient de nouveau, et à les refuser.',
  notHere:
    'Nous ne pouvons pas vérifier les sauvegardes ni le stockage interne de notre prestataire d’analyse. Nos propres sauvegardes sont écrasées sous [durée].',
  recipients: 'Les destinataires suivants des données ont été invités à les supprimer aussi :',
  noRecipients: 'Aucun destinataire des données n’est noté. [Destinataires informés]',
  acknowledged: (day) => `nous a fait savoir que c’est fait (noté le ${day})`,
  silent: 'ne nous l’a pas encore fait savoir',
  rights:
    'Si vous n’êtes pas d’accord, vous pouvez introduire une réclamation auprès d’une autorité de contrôle ([nom, adresse]) et former un recours juridictionnel.',
  proof: (sha256) =>
    `Un certificat de cet effacement est conservé sous la référence ci-dessus. Il ne nomme personne (SHA-256 ${sha256}).`,
  closing: 'Cordialement,',
};

const spanish: LetterWords = {
  sender: { controller: '[nombre del responsable]', contact: '[dirección]' },
  subject: (law, reference) => `Su solicitud de supresión (${law}), referencia ${reference}`,
  laws: { gdpr: 'art. 17 del RGPD', ccpa: 'California Consumer Privacy Act' },
  greeting: 'Hola, [nombre]:',
  asked: (day) =>
    `El ${day} recibimos su solicitud de que suprimiéramos sus datos personales. Esto es lo que hemos hecho:`,
  done: 'Qué se ha hecho',
  here: {
    verified: (day) =>
      `En nuestra propia copia de los datos de análisis, sus datos se suprimieron a más tardar el ${day}. Una búsqueda en todo lo almacenado lo había encontrado antes; después no encontró nada.`,
    observed: (day) =>
      `En nuestra propia copia de los datos de análisis no hay nada almacenado sobre usted a fecha de ${day}: una búsqueda en todo lo que contiene no encontró nada.`,
  },
  person: {
    deleted: 'En nuestro proveedor de análisis se eliminó su perfil. Desde entonces lo hemos comprobado: ya no existe.',
    already_absent: 'Nuestro proveedor de análisis ya no tenía ningún perfil suyo.',
    still_present:
      'Nuestro proveedor de análisis todavía tenía su perfil cuando preguntamos por última vez. [Qué ocurrirá ahora]',
    not_verifiable: 'Pedimos a nuestro proveedor de análisis que eliminara su perfil. No podemos comprobarlo.',
  },
  events: {
    confirmed: 'Nuestro proveedor de análisis declara que ha eliminado los eventos registrados sobre usted.',
    not_verifiable:
      'Pedimos a nuestro proveedor de análisis que eliminara los eventos registrados sobre usted. No podemos comprobarlo.',
    unconfirmed:
      'Pedimos a nuestro proveedor de análisis que eliminara los eventos registrados sobre usted. No lo ha confirmado.',
    partly_deleted:
      'Nuestro proveedor de análisis declara que ha eliminado una parte de los eventos registrados sobre usted. [Qué ocurre con los demás]',
    not_queued:
      'Nuestro proveedor de análisis no ha mostrado ninguna eliminación de los eventos registrados sobre usted. [Qué ocurrirá ahora]',
    kept: 'Los eventos registrados sobre usted permanecen en nuestro proveedor de análisis. [La excepción que lo permite]',
  },
  recordings: {
    deleted: 'Las grabaciones de sus sesiones se eliminaron en nuestro proveedor de análisis.',
    absent: 'Nuestro proveedor de análisis ya no muestra ninguna grabación de sus sesiones.',
    not_deletable_via_api:
      'Las grabaciones de sus sesiones permanecen en nuestro proveedor de análisis hasta el final de su conservación: [plazo].',
    not_deletable_by_key:
      'Las grabaciones de sus sesiones permanecen en nuestro proveedor de análisis hasta el final de su conservación: [plazo].',
    still_present:
      'Las grabaciones de sus sesiones seguían en nuestro proveedor de análisis cuando preguntamos por última vez. [Qué ocurrirá ahora]',
    deletion_requested:
      'Pedimos a nuestro proveedor de análisis que eliminara las grabaciones de sus sesiones. No hemos visto que lo haya hecho.',
    not_verifiable:
      'Pedimos a nuestro proveedor de análisis que eliminara las grabaciones de sus sesiones. No podemos comprobarlo.',
  },
  bucket: {
    locked:
      'Un bloqueo de nuestro almacenamiento conserva versiones anteriores de los datos hasta el [fecha]. Entonces se eliminarán.',
  },
  copies: 'No se puede comprobar una copia en el disco de una máquina que ya no existe. [Qué ocurrió con el disco]',
  late: (due) => `Esto ha tardado más de lo que permite la ley (hasta el ${due}). [El motivo del retraso]`,
  remains: 'Qué queda',
  hashes:
    'Conservamos valores codificados (resúmenes con clave) de sus identificadores. No nombran a nadie. Con ellos reconocemos datos suyos que vuelvan a llegar y no los dejamos entrar.',
  notHere:
    'No podemos comprobar las copias de seguridad ni el almacenamiento interno de nuestro proveedor de análisis. Nuestras propias copias de seguridad se sobrescriben en [plazo].',
  recipients: 'Se pidió a estos destinatarios de los datos que también los supriman:',
  noRecipients: 'No consta ningún destinatario de los datos. [Destinatarios informados]',
  acknowledged: (day) => `nos ha comunicado que lo ha hecho (anotado el ${day})`,
  silent: 'todavía no nos lo ha comunicado',
  rights:
    'Si no está de acuerdo, puede presentar una reclamación ante una autoridad de control ([nombre, dirección]) y ejercer acciones judiciales.',
  proof: (sha256) =>
    `Un certificado de esta supresión se conserva con la referencia indicada. No nombra a nadie (SHA-256 ${sha256}).`,
  closing: 'Atentamente,',
};

/** The sentences of a letter, by language. */
export const letterWords: Readonly<Record<LetterLanguage, LetterWords>> = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
};
