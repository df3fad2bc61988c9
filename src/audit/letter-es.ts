import type { LetterWords } from './letter-words.ts';

/** The sentences of a letter in Spanish. */
export const spanish: LetterWords = {
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
    not_verifiable:
      'No podemos comprobar si nuestro proveedor de análisis ha eliminado su perfil. [Qué ocurrirá ahora]',
  },
  events: {
    confirmed: 'Nuestro proveedor de análisis declara que ha eliminado los eventos registrados sobre usted.',
    not_verifiable:
      'No podemos comprobar si nuestro proveedor de análisis ha eliminado los eventos registrados sobre usted.',
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
      'No podemos comprobar si nuestro proveedor de análisis ha eliminado las grabaciones de sus sesiones.',
  },
  bucket: {
    locked:
      'Un bloqueo de nuestro almacenamiento conserva versiones anteriores de los datos hasta el [fecha]. Entonces se eliminarán.',
  },
  copies: 'No se puede comprobar una copia en el disco de una máquina que ya no existe. [Qué ocurrió con el disco]',
  late: (due) => `Esto ha tardado más allá del día que habíamos fijado (${due}). [El motivo del retraso]`,
  remains: 'Qué queda',
  shared: 'Una parte de los datos es, o puede ser, también de otra persona. Se le ha dejado a ella. [Qué es]',
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
