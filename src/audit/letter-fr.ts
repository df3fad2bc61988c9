import type { LetterWords } from './letter-words.ts';

/** The sentences of a letter in French. */
export const french: LetterWords = {
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
      'Nous ne pouvons pas vérifier que notre prestataire d’analyse a supprimé votre profil. [La suite donnée]',
  },
  events: {
    confirmed: 'Notre prestataire d’analyse déclare avoir supprimé les événements enregistrés à votre sujet.',
    not_verifiable:
      'Nous ne pouvons pas vérifier que notre prestataire d’analyse a supprimé les événements enregistrés à votre sujet.',
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
      'Nous ne pouvons pas vérifier que notre prestataire d’analyse a supprimé les enregistrements de vos sessions.',
  },
  bucket: {
    locked:
      'Un verrou de notre stockage conserve d’anciennes versions des données jusqu’au [date]. Elles seront alors supprimées.',
  },
  copies: 'Une copie sur le disque d’une machine disparue ne peut pas être vérifiée. [Le sort du disque]',
  late: (due) => `Cela a duré au-delà du jour que nous avions fixé (${due}). [Le motif du retard]`,
  remains: 'Ce qui reste',
  shared:
    'Une partie des données concerne aussi, ou peut concerner, une autre personne. Elle lui a été laissée. [Ce que c’est]',
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
